"""Check properties of every analysis of the job log on any trace."""

from collections.abc import Iterator

import pytest

from philly_analysis.report.findings import ANALYSES
from philly_analysis.results import figures
from philly_analysis.trace.trace import Trace
from tests.analyses.clusters import frame, random_tables, trace_of, write_tables

_JOB_LOG = {"jobs", "attempts", "placements", "machines"}
_NAMES = [
    name
    for name, a in ANALYSES.items()
    if {n.partition(" or ")[0].partition(".")[0] for n in a.NEEDS} <= _JOB_LOG
]


@pytest.fixture(scope="module")
def odd_traces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Trace]]:
    """Traces by name: empty, one job, no VCs nor users, everything overlapping, random."""
    folder = tmp_path_factory.mktemp("odd")
    machines = frame("machines", ("machine_id", "gpus"), [("m0", 4)])
    held = ("job_id", "attempt", "machine_id", "gpu")
    one = frame("placements", held, [("a", 1, "m0", 0)])
    none = frame("placements", held, [])
    jobs = [("a", None, None, 1, 0, None), ("b", None, None, 2, 3, None)]
    overlapping = [("a", 1, 0, 50), ("a", 2, 10, 20), ("a", 3, 5, None), ("b", 1, None, 7)]
    paths = {
        "empty": trace_of(
            folder / "empty",
            [],
            [],
            machines=frame("machines", ("machine_id", "gpus"), []),
            placements=none,
        ),
        "one job": trace_of(
            folder / "one", jobs[:1], [("a", 1, 1, 2)], machines=machines, placements=one
        ),
        "never ran": trace_of(folder / "never", jobs, [], machines=machines, placements=none),
        "no VCs, all overlapping": trace_of(
            folder / "overlapping", jobs, overlapping, machines=machines, placements=one
        ),
        "hostile names": trace_of(
            folder / "hostile",
            [(f"$\\frac{i}", "$\\frac{", f"_<b>{i}$", 2**i, i, "Pass") for i in range(3)],
            [(f"$\\frac{i}", 1, i + 1, 9) for i in range(3)],
            machines=machines,
            placements=none,
        ),
        "random": write_tables(folder / "random", random_tables(11)),
    }
    opened = {name: Trace(path) for name, path in paths.items()}
    yield opened
    for trace in opened.values():
        trace.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "odd", ["hostile names", "empty", "random", "one job", "never ran", "no VCs, all overlapping"]
)
@pytest.mark.parametrize("name", _NAMES)
def test_every_analysis_answers_and_draws(
    name: str, odd: str, odd_traces: dict[str, Trace]
) -> None:
    analysis = ANALYSES[name]
    result = analysis.compute(odd_traces[odd])
    assert result.name == name
    facts = [f.name for f in result.facts]
    assert len(facts) == len(set(facts))
    assert all(isinstance(f.value, int | float | str | None) for f in result.facts)
    for text in (*result.sentences, *result.caveats):
        assert text.endswith((".", "?")) and "nan" not in text.lower().split(), text
    figure = analysis.plot(result)
    # drawing is slow, and these are the likeliest to fail
    if odd in ("empty", "hostile names"):
        assert "<svg" in figures.svg(figure)
