"""Check user-defined policies: the guide's example, and decisions from outside."""

import ast
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from philly_analysis.errors import SimulationError
from philly_analysis.simulator import Simulation, policy_named, run, simulate
from philly_analysis.simulator.cluster.placement import pack
from philly_analysis.simulator.policies import list_policies, user_policy
from philly_analysis.simulator.policies.priority import Fifo
from philly_analysis.trace.manifest import Manifest
from tests.simulator.drawn import done, gantt, job, machines
from tests.simulator.test_simulation import MACHINES, workload


@pytest.fixture
def guide(tmp_path: Path) -> str:
    """The policy of the guide, in a file."""
    docstring = ast.get_docstring(ast.parse(Path(user_policy.__file__).read_text("utf-8"))) or ""
    code = docstring.partition("::\n\n    from")[2].partition("\n``docs/own-policy.md`` is")[0]
    file = tmp_path / "largest.py"
    file.write_text(textwrap.dedent("    from" + code))
    return f"{file}:LargestFirst"


def test_the_policy_of_the_guide_does_what_the_guide_says(guide: str) -> None:
    # a holds both GPUs till 50; b waits for longest, but c is larger
    jobs = [job("a", 0, 2, 50), job("b", 1, 1, 5), job("c", 2, 2, 5)]
    assert gantt(run(jobs, machines(2), policy_named(guide, {}))) == {
        "a": done(0, 50),
        "c": done(50, 55),
        "b": done(55, 60),
    }
    patient = gantt(run(jobs, machines(2), policy_named(guide, {"patience_s": "20"})))
    assert patient["b"] == done(50, 55) and patient["c"] == done(55, 60)
    # at 50 only b has waited for 49 s
    first = gantt(run(jobs, machines(2), policy_named(guide, {"patience_s": "49"})))
    assert first == patient


def test_the_policy_of_the_guide_gives_shares_of_a_gpu(guide: str) -> None:
    jobs = [replace(job(name, 0, 1, 10), gpu_frac=0.5) for name in "ab"]
    assert gantt(run(jobs, machines(1), policy_named(guide, {}))) == {
        "a": done(0, 10),
        "b": done(0, 10),
    }


def test_a_policy_of_ones_own_is_like_any_other(guide: str, tmp_path: Path) -> None:
    listed = list_policies(guide).set_index("knob")
    assert listed.loc["patience_s", "allowed"] == "0 to 1e+06"
    with pytest.raises(SimulationError, match="may be 0 to 1e"):
        policy_named(guide, {"patience_s": -1})
    assert "largest (" in " ".join(
        Manifest.read(simulate(workload(40), guide, tmp_path / "out", cluster=MACHINES)).notes
    )


def test_what_is_no_policy_is_refused_with_what_there_is(guide: str, tmp_path: Path) -> None:
    file = guide.rpartition(":")[0]
    with pytest.raises(SimulationError, match=r"no Policy of that name. It defines: LargestFirst"):
        policy_named(f"{file}:Smallest", {})
    with pytest.raises(SimulationError, match="there is no file"):
        policy_named(f"{tmp_path}/none.py:A", {})
    (tmp_path / "broken.py").write_text("import nothing_of_the_kind")
    with pytest.raises(SimulationError, match="does not run: ModuleNotFoundError"):
        policy_named(f"{tmp_path}/broken.py:A", {})


def test_a_simulation_can_be_decided_from_outside_moment_by_moment() -> None:
    """A learner starts the shortest job first, whatever the policy would have done."""
    jobs = [job("a", 0, 1, 10), job("b", 1, 1, 9), job("c", 2, 1, 1)]
    simulation = Simulation(jobs, machines(1), Fifo())
    seen = []
    while simulation.advance():
        view = simulation.view
        seen.append((view.now_s, len(view.queue)))
        waiting = sorted(view.queue, key=lambda job: job.left_s(view.now_s))
        allocation = pack(view.cluster, 1) if waiting else None
        simulation.apply({waiting[0]: allocation} if allocation else {})
    assert gantt(simulation.schedule()) == {"a": done(0, 10), "c": done(10, 11), "b": done(11, 20)}
    assert seen == [(0, 1), (1, 1), (2, 2), (10, 2), (11, 1), (20, 0)]
