"""Forecast jobs at a moment of a log, by the method that its backtest chooses."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd

from philly_analysis.distributions import Floats
from philly_analysis.errors import InputError
from philly_analysis.forecasts.backtest import Backtest, backtest
from philly_analysis.forecasts.believed import Believed, Replays
from philly_analysis.forecasts.distribution import WaitDistribution
from philly_analysis.forecasts.forest import drain_times
from philly_analysis.forecasts.queue import NAMES, NUMBERS, Queue, check_waits
from philly_analysis.forecasts.state import submission_states
from philly_analysis.forecasts.walk import CONDITIONAL, REPLAY, Asked, Walk
from philly_analysis.results import gang_label
from philly_analysis.study import gang_class


@dataclass(frozen=True, slots=True)
class Request:
    """A job to forecast; what is None is not known.

    Attributes
    ----------
    gpus
        Gang size.
    vc, account, user, qos
        Names that the job is submitted with.
    servers, cpus, mem_gb
        Resources that the job requests.
    time_limit_s
        Run time limit.
    """

    gpus: float
    vc: str | None = None
    account: str | None = None
    user: str | None = None
    qos: str | None = None
    servers: float | None = None
    cpus: float | None = None
    mem_gb: float | None = None
    time_limit_s: float | None = None

    def __str__(self) -> str:
        """Describe the job in a few words."""
        parts = [f"A job of {gang_label(f'{self.gpus:g}')}"]
        named = (("in virtual cluster", self.vc), ("with QOS", self.qos), ("of user", self.user))
        parts += [f"{words} {name}" for words, name in named if name is not None]
        if self.servers is not None:
            parts.append(f"on {self.servers:g} server{'' if self.servers == 1 else 's'}")
        if self.time_limit_s is not None:
            parts.append(f"with a time limit of {self.time_limit_s / 3600:.3g} h")
        return " ".join(parts)


@dataclass(frozen=True, slots=True)
class Forecaster:
    """A log up to a moment, with the backtest and the forest for jobs submitted at the moment.

    Attributes
    ----------
    queue
        Jobs up to the moment.
    at_s
        The moment, in seconds since 1970.
    backtest
        Forecasts of the last two fifths of the jobs, and the method that they choose.
    walk
        What is known at the moment.
    """

    queue: Queue
    at_s: float
    backtest: Backtest
    walk: Walk

    @classmethod
    def fit(
        cls,
        queue: Queue,
        name: str,
        at_s: float | None,
        believe: Callable[[float], Believed | str],
    ) -> "Forecaster":
        """Test forecasts on a log up to a moment, and grow the forest on all known waits.

        Parameters
        ----------
        name
            Name of the log, for errors.
        at_s
            Moment of the forecast; None: end of the log.
        believe
            Returns the policy that reproduces the waits: see :func:`backtest`.

        Raises
        ------
        InputError
            The moment is outside of the log, or the log records too few waits before.
        """
        at_s = queue.end_s if at_s is None else at_s
        if at_s > queue.end_s:
            raise InputError(
                f"{_clock(at_s)} is after the end of the log, {_clock(queue.end_s)}. What the "
                "queue will be then is not recorded: give an earlier moment, or see the table by "
                "hour of the week."
            )
        queue = queue.until(at_s)
        check_waits(queue, name)
        everyone = queue.jobs.assign(ahead=np.arange(len(queue.jobs)))
        states = submission_states(queue, everyone)
        tested = backtest(queue, states, believe)
        replays = (
            Replays.after(tested.believed, queue, at_s)
            if isinstance(tested.believed, Believed) and tested.method == REPLAY
            else None
        )
        walk = Walk.begin(queue, states, len(queue.jobs), tested.learned, replays)
        return cls(queue, at_s, tested, walk)

    def ask(self, requests: Sequence[Request]) -> list[WaitDistribution]:
        """Return the distribution of the wait of each job, if it is submitted at the moment."""
        columns = ("gpus", *NAMES, *NUMBERS)
        rows = [{name: getattr(request, name) for name in columns} for request in requests]
        asked = pd.DataFrame(rows, columns=list(columns))
        asked = asked.assign(entered_s=self.at_s, ahead=len(self.queue.jobs))
        # each job is submitted alone: the others are not in its queue
        remaining = [self._simulated([row])[0] for row in asked.to_dict("records")]
        return self._forecast(asked, remaining)

    def waiting(self) -> pd.DataFrame:
        """Forecast the jobs that wait at the moment.

        Returns
        -------
        pandas.DataFrame
            One row per waiting job, in the order of the queue: job_id, vc, user, gpus,
            waited_s (until now), and the numbers of the distribution of the remaining wait.
        """
        jobs = self.queue.jobs
        waiting = np.flatnonzero(~np.isfinite(jobs["left_s"].to_numpy(float)))
        asked = jobs.iloc[waiting].assign(ahead=waiting)
        rows = []
        wholes = self._forecast(asked, self._simulated(asked.to_dict("records")))
        for (_, job), whole in zip(asked.iterrows(), wholes, strict=True):
            waited_s = self.at_s - float(job["entered_s"])
            later = whole.after(waited_s)
            remaining = WaitDistribution(
                tuple(max(round(wait - waited_s), 0) for wait in later.waits), later.shares
            )
            names = {name: job[name] for name in ("job_id", "vc", "user", "gpus")}
            rows.append({**names, "waited_s": waited_s, **remaining.numbers()})
        columns = ["job_id", "vc", "user", "gpus", "waited_s"]
        return pd.DataFrame(rows) if rows else pd.DataFrame(columns=columns)

    def _simulated(self, asked: Sequence[Mapping[Hashable, Any]]) -> list[Floats | None]:
        """Return simulated remaining waits of jobs that are in the queue together."""
        if self.walk.replays is None:
            return [None] * len(asked)
        return self.walk.replays.waits(asked, len(self.queue.jobs), self.at_s)

    def _forecast(
        self, asked: pd.DataFrame, remaining: Sequence[Floats | None]
    ) -> list[WaitDistribution]:
        """Return the distributions of the whole waits of jobs that are in the queue now."""
        if asked.empty:
            return []
        states = submission_states(self.queue, asked)
        leaves, drains = self.walk.forest.leaves_of(states), drain_times(states)
        distributions = []
        for i, request in enumerate(asked.to_dict("records")):
            gang = int(gang_class(float(request["gpus"])))
            of_job = Asked(request, self.at_s, remaining[i])
            points = self.walk.points(of_job, gang, leaves[i], drains[i])
            method = REPLAY if REPLAY in points else CONDITIONAL
            masses = self.walk.masses(method, gang, self.at_s)
            distributions.append(WaitDistribution.of_points(points[method], masses))
        return distributions


def _clock(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
