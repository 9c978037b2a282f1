"""Check keys that depend on time, the checker of policies, and the guide's policies."""

import re
from dataclasses import dataclass
from typing import Any

import pytest

from philly_analysis import check_policy
from philly_analysis.simulator import (
    POLICIES,
    Decision,
    Job,
    Policy,
    View,
    allocate,
    preempt_for_gpus,
    run,
    start_in_order,
)
from philly_analysis.simulator.policies.policy import is_steady
from philly_analysis.simulator.policies.priority import Srsf
from philly_analysis.simulator.policy_check import _mixed
from philly_analysis.workload import default_servers
from tests.simulator.drawn import done, gantt, job, machines
from tests.support.repository import DOCS
from tests.support.slow import quick_first


def guide() -> dict[str, Any]:
    """Return the policies that the guide defines, by name."""
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "own-policy.md").read_text("utf-8"), re.S)
    code = "\n".join(block for block in blocks if "import" in block or "class " in block)
    kept = [line for line in code.split("\n") if not re.match(r"(check_policy|sweep)\(", line)]
    names: dict[str, Any] = {"__name__": "guide"}
    exec("\n".join(kept), names)  # noqa: S102 - our own page
    return {k: v for k, v in names.items() if isinstance(v, type) and issubclass(v, Policy)}


GUIDE = guide()


def failed(policy: type[Policy]) -> set[str]:
    table = check_policy(policy).table
    return set(table.loc[~table["passed"], "check"])


@pytest.mark.slow
def test_the_guide_leads_from_ten_lines_to_an_aging_policy() -> None:
    assert [*GUIDE] == ["Policy", "SmallestFirst", "ShortestLeft", "Aging"]
    assert failed(GUIDE["SmallestFirst"]) == {"starvation"}
    assert failed(GUIDE["ShortestLeft"]) == {"starvation"}
    assert failed(GUIDE["Aging"]) == set()


def test_aging_changes_the_order_by_hand() -> None:
    # one GPU and a stream of short jobs: b, of 60 s, is overdue at 101
    jobs = [job("a", 0, 1, 50), job("b", 1, 1, 60)]
    jobs += [job(name, at_s, 1, 20) for name, at_s in zip("cdef", (50, 70, 90, 110), strict=True)]
    by_time = gantt(run(jobs, machines(1), GUIDE["ShortestLeft"]()))
    assert by_time["f"] == done(110, 130) and by_time["b"] == done(130, 190)
    # decisions at events only: the next event after 101 is the end of e
    at_events = gantt(run(jobs, machines(1), GUIDE["Aging"](patience_s=100, every_s=1e6)))
    assert at_events["b"] == done(110, 170) and at_events["f"] == done(170, 190)
    # decisions each second: b preempts e, which has 9 s left
    each_second = gantt(run(jobs, machines(1), GUIDE["Aging"](patience_s=100, every_s=1)))
    assert each_second["b"] == done(101, 161) and each_second["f"] == done(170, 190)
    assert each_second["e"] == [(90, 101, "preempted"), (161, 170, "completed")]


@dataclass(frozen=True)
class Aged(Srsf):
    """Remaining service over age: a subclass of a shipped, steady policy."""

    name = "aged"

    def key(self, job: Job, now_s: float) -> float:
        """Return the remaining service over the age."""
        return super().key(job, now_s) / (now_s - job.spec.submit_s + 60)

    def running_key(self, job: Job, now_s: float) -> Any:
        """Return the same key of running jobs."""
        return self.key(job, now_s)

    def decide(self, view: View) -> Decision:
        """Preempt by the key."""
        return preempt_for_gpus(view)


def test_a_subclass_of_a_steady_policy_has_its_keys_evaluated() -> None:
    assert is_steady(Srsf()) and not is_steady(Aged())
    aged, plain = (run(_mixed(), default_servers(16), policy()) for policy in (Aged, Srsf))
    assert not aged.attempts.equals(plain.attempts)


@dataclass(frozen=True)
class Frozen(Aged):
    """The same, but it says that its keys do not change."""

    name = "frozen"
    steady = True


@dataclass(frozen=True)
class Lazy(Policy):
    """Starts one job at a time."""

    name = "lazy"

    def decide(self, view: View) -> Decision:
        """Start a job if none runs."""
        return {} if len(view.running) else dict([*start_in_order(view).items()][:1])


@dataclass(frozen=True)
class Twice(Policy):
    """Gives all waiting jobs the same GPUs."""

    name = "twice"

    def decide(self, view: View) -> Decision:
        """Allocate without a plan."""
        chosen = {job: allocate(view.cluster, job.request) for job in view.queue}
        return {job: new for job, new in chosen.items() if new is not None}


@dataclass(frozen=True)
class Moody(Policy):
    """Orders jobs by their place in memory and by chance."""

    name = "moody"
    calls = [0]  # noqa: RUF012 - the fault that the test is about

    def key(self, job: Job, now_s: float) -> float:
        """Return a number that differs from call to call."""
        self.calls[0] += 1
        return hash((job.index, self.calls[0])) % 97

    def decide(self, view: View) -> Decision:
        """Start jobs in that order."""
        return start_in_order(view)


@pytest.mark.parametrize(
    ("policy", "check"),
    [(Frozen, "keys"), (Lazy, "idle GPUs"), (Twice, "allocation"), (Moody, "repetition")],
)
def test_the_checker_finds_what_is_wrong(policy: type[Policy], check: str) -> None:
    result = check_policy(policy)
    assert check in failed(policy)
    assert any(sentence.startswith(f"{check}: ") for sentence in result.sentences)


def test_gpus_that_stay_free_for_the_first_job_are_no_failure() -> None:
    result = check_policy("easy")
    assert result.table["passed"].all() and result.sentences == ("easy passes 5 checks.",)
    [note] = result.table.query("check == 'idle GPUs'")["detail"]
    assert "which stay free for job-" in note


@pytest.mark.parametrize("name", quick_first(sorted(POLICIES.keys() - {"recorded", "slurm"}), 3))
def test_shipped_policies_keep_their_keys_truly(name: str) -> None:
    """A policy that says steady has the schedule of one whose keys are evaluated each time.

    Priorities of `slurm` change with time, so that it says nothing.
    """
    kind = POLICIES[name]
    assert is_steady(kind())
    evaluated = type(kind.__name__, (kind,), {"steady": False})
    kept, anew = (run(_mixed(), default_servers(16), policy()) for policy in (kind, evaluated))
    assert kept.attempts.equals(anew.attempts) and kept.jobs.equals(anew.jobs)
