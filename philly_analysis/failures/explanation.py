"""Explain verdicts in sentences: root, consequences, noise, what is unsure, what mends it."""

from philly_analysis.failures.classifier import Failure
from philly_analysis.failures.events import Event
from philly_analysis.failures.masking import mask
from philly_analysis.failures.reasons import NO_SIGNATURE, advice_of

EXPLAINED = 3
"""Outputs that are explained line by line; of more, reasons only."""
SURE = 0.9
"""Confidence below which a verdict is said to be unsure."""
SHOWN_CHARS = 120

_UNSURE = {
    "signature": "the line may be a consequence of another process's failure",
    "general rule": "only the class or code of the error is known",
    "guess": "the output shows how it ended, not why",
    "benign": "only warnings, recovered errors or progress were found",
    "none": "no line names a cause",
}


def sentences(failures: list[tuple[str, Failure]]) -> list[str]:
    """Return sentences on a few outputs, and advice for the reasons of their failures.

    Parameters
    ----------
    failures
        Name and verdict of each output.
    """
    sentences = []
    if len(failures) <= EXPLAINED:
        for file, failure in failures:
            sentences += _explain(file, failure)
    reasons = dict.fromkeys(f.reason for _, f in failures if f.reason != NO_SIGNATURE)
    return sentences + [f"{reason}, usually mended so: {advice_of(reason)}" for reason in reasons]


def _explain(file: str, failure: Failure) -> list[str]:
    sentences = [
        f"{file}: {_part(event)}, line {event.line_number:,}: {_line(event)}"
        for event in failure.events
        if event.part != "noise"
    ]
    noise = [f"{event.line_number:,}" for event in failure.events if event.part == "noise"]
    if noise:
        sentences.append(
            f"{file}: noise in line{'s' if len(noise) > 1 else ''} {', '.join(noise)}."
        )
    if failure.confidence < SURE:
        also = f"; also possible: {', '.join(failure.alternatives)}" if failure.alternatives else ""
        sentences.append(
            f"{file}: {_UNSURE[failure.level]}; {failure.confidence:.0%} of such verdicts are "
            f"right{also}."
        )
    return sentences


def _part(event: Event) -> str:
    return f"{event.part} ({event.kind}{f', rank {event.rank}' if event.rank else ''})"


def _line(event: Event) -> str:
    line = mask(event.line)
    return line if len(line) <= SHOWN_CHARS else f"{line[:SHOWN_CHARS]}…"
