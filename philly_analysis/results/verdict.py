"""The answer of a finding in words and one number."""

from dataclasses import dataclass

NOT_RECORDED = "Not recorded"
"""Label of an answer that the log does not give; its advice says what to collect."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer of a finding, as on the first screen of a page.

    Attributes
    ----------
    label
        The answer in words: ``Fragmentation``.
    number
        The number of the answer, with its unit: ``54 %``; empty: there is none.
    noun
        The quantity that the number measures: ``of waiting time``.
    interval
        The 95 % interval of the number; may be empty, as all that follows.
    cost
        What the answer costs, in GPU hours or hours of waiting.
    trend
        The change of the number from the period before, or why that is not known.
    advice
        One recommendation to the cluster's operator, with the size of its effect; without a
        number, what to collect.
    """

    label: str
    number: str = ""
    noun: str = ""
    interval: str = ""
    cost: str = ""
    trend: str = ""
    advice: str = ""

    @property
    def is_known(self) -> bool:
        """Whether the log gives an answer."""
        return self.label != NOT_RECORDED

    def __str__(self) -> str:
        """Return the headline: ``Fragmentation: 54 % of waiting time``."""
        return f"{self.label}: {self.number} {self.noun}" if self.number else self.label
