"""Generate series with given values and a given autocorrelation."""

import numpy as np
import scipy.fft as fft

from philly_analysis.distributions.arrays import Floats

_ROUNDS = 12
_ROUNDS_X_SIZE = 3_000_000
_CORRECTIONS = 5


def impose_autocorrelation(score: Floats, values: Floats, target: Floats, rhythm: Floats) -> Floats:
    """Return scores whose ranks order values into a series with a given autocorrelation.

    The series has exactly the given values and approximately the given spectrum (iterated
    amplitude-adjusted Fourier transform; Schreiber and Schmitz 1996). Each round imposes the
    amplitudes, then the values; the error of both decreases.

    Parameters
    ----------
    score
        Shape (n,): initial scores.
    values
        Shape (n,), ascending.
    target
        Autocorrelation at lags 1, 2, ..
    rhythm
        Shape (n,): a regressor on which the series has a slope of 1; zeros for none.
    """
    size = values.size
    lags = min(target.size, size // 2 - 1)
    wanted = target[:lags].copy()
    rounds = int(np.clip(_ROUNDS_X_SIZE // size, 3, _ROUNDS))
    series = np.empty(size)
    rhythm_power = float(rhythm @ rhythm)
    for _ in range(_CORRECTIONS):
        wanted_amplitude = fourier_amplitudes(wanted, size)
        for _ in range(rounds):
            series[np.argsort(score, kind="stable")] = values
            spectrum = fft.rfft(series - values.mean())
            score = fft.irfft(
                spectrum * wanted_amplitude / np.maximum(np.abs(spectrum), 1e-12), size
            )
            if rhythm_power > 1e-9 * size:
                unit = float(score @ score) / max(float(series @ series), 1e-12)
                score += (1 - float(series @ rhythm) / rhythm_power) * np.sqrt(unit) * rhythm
        series[np.argsort(score, kind="stable")] = values
        reached = fft.irfft(np.abs(fft.rfft(series - values.mean())) ** 2, size)
        # Skewed values reduce the correlation: raise the target by the shortfall.
        wanted += target[:lags] - reached[1 : lags + 1] / max(reached[0], 1e-12)
    return score


def fourier_amplitudes(autocorrelation: Floats, size: int) -> Floats:
    """Return Fourier amplitudes of a series of `size` with variance `size`.

    A flat-top window tapers the autocorrelation (Politis and Romano 1995); negative powers
    are set to zero.
    """
    lags = min(autocorrelation.size, size // 2 - 1)
    lag = np.arange(lags + 1)
    taper = np.clip(2 * (1 - lag / (lags + 1)), 0, 1)
    r = np.concatenate(([1.0], autocorrelation[:lags])) * taper
    circle = np.zeros(size)
    circle[: lags + 1] = r
    circle[size - lags :] = r[1:][::-1]
    power = np.maximum(fft.rfft(circle).real, 0)
    power[0] = 0
    return np.asarray(np.sqrt(power))
