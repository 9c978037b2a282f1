"""Series of given values that have a given autocorrelation: their spectrum, and their order."""

import numpy as np
import scipy.fft as fft
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_ROUNDS = 12
_ROUNDS_X_SIZE = 3_000_000
_CORRECTIONS = 5


def with_spectrum(score: Floats, steps: Floats, target: Floats, rhythm: Floats) -> Floats:
    """Return scores that order values into a series with a wanted autocorrelation.

    Rank the values by the scores: the series then has the right law and, as nearly as that law
    lets it, the right spectrum (iterated amplitude-adjusted Fourier transform; Schreiber and
    Schmitz 1996). Each round gives the series the wanted amplitudes, which spoils its values, and
    then its values back, which spoils the amplitudes a little less.

    Parameters
    ----------
    score
        Shape (n,): what to start from.
    steps
        Shape (n,), ascending: the values.
    target
        Wanted autocorrelation at lags 1, 2, ..
    rhythm
        Shape (n,): what the series follows with a slope of 1; zeros: nothing.
    """
    size = steps.size
    lags = min(target.size, size // 2 - 1)
    wanted = target[:lags].copy()
    rounds = int(np.clip(_ROUNDS_X_SIZE // size, 3, _ROUNDS))
    series = np.empty(size)
    rhythm_power = float(rhythm @ rhythm)
    for _ in range(_CORRECTIONS):
        wanted_amplitude = amplitude(wanted, size)
        for _ in range(rounds):
            series[np.argsort(score, kind="stable")] = steps
            spectrum = fft.rfft(series - steps.mean())
            score = fft.irfft(
                spectrum * wanted_amplitude / np.maximum(np.abs(spectrum), 1e-12), size
            )
            if rhythm_power > 1e-9 * size:
                unit = float(score @ score) / max(float(series @ series), 1e-12)
                score += (1 - float(series @ rhythm) / rhythm_power) * np.sqrt(unit) * rhythm
        series[np.argsort(score, kind="stable")] = steps
        reached = fft.irfft(np.abs(fft.rfft(series - steps.mean())) ** 2, size)
        # A skewed law of counts pulls the correlation towards zero: aim beyond by as much.
        wanted += target[:lags] - reached[1 : lags + 1] / max(reached[0], 1e-12)
    return score


def amplitude(autocorrelation: Floats, size: int) -> Floats:
    """Return Fourier amplitudes of a series of `size` with unit variance times its own length.

    The autocorrelation is cut off by a flat-top window (Politis and Romano 1995), and what the
    cut makes negative in the spectrum is set to zero.
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
