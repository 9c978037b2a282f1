"""Label, explain and colour the causes of waits, and recommend what shortens each."""

from dataclasses import dataclass, replace

from philly_analysis.analyses.shared.texts import texts
from philly_analysis.results import figures


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause of waiting time.

    Attributes
    ----------
    label
        Label of the cause in the figure.
    meaning
        Meaning of the cause, after "of the waiting time:".
    advice
        Recommendation where the cause is the largest.
    by
        Column whose group with most of this waiting time is named: ``gang``, ``vc`` or ``user``.
    color
        Colour of the cause in the figure.
    """

    label: str
    meaning: str
    advice: str
    by: str = "gang"
    color: str = figures.ACCENT

    @property
    def headline(self) -> str:
        """Label of the cause as the beginning of a headline."""
        return self.label[0].upper() + self.label[1:]


CAUSES = {cause: Cause(**fields) for cause, fields in texts("why_waits.toml").items()}


def named_causes(method: object) -> dict[str, Cause]:
    """Return the causes, the quota by the method of knowing it: estimated unless given."""
    if method in ("given", "none"):
        return CAUSES
    quota = replace(
        CAUSES["quota"],
        label="over quota (estimated)",
        meaning="the virtual cluster would have exceeded its estimated quota",
        advice="Compare the estimate with the quotas that are set: no quota is recorded.",
    )
    return CAUSES | {"quota": quota}
