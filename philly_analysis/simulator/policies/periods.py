"""Decide at multiples of a period: whether a period ends, and when to decide next."""

from philly_analysis.simulator.jobs.job import FOREVER
from philly_analysis.simulator.policies.view import View

_EPS_S = 1e-6


def next_end_s(view: View, period_s: float) -> float:
    """Return the end of the present period (s), or infinity if no job waits."""
    if not period_s or not view.queue.groups:
        return FOREVER
    return (view.now_s // period_s + 1) * period_s


def period_ends(now_s: float, period_s: float, round_s: float) -> bool:
    """Whether a period ends now, or has ended since the previous round."""
    since_s = now_s % period_s
    return since_s < max(round_s, _EPS_S) or period_s - since_s < _EPS_S
