"""Check ingest of accounting logs of PBS, LSF and Grid Engine."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from philly_analysis import ingest
from philly_analysis.errors import InputError
from philly_analysis.ingest.source_registry import detect_source
from tests.ingest.accounting_logs import Run, fortnight, grid_engine, lsf, pbs, shares
from tests.ingest.conftest import Ingest, assert_equal_tables, check_causes
from tests.support.repository import ROOT
from tests.support.slow import quick_first

REAL = ROOT.parent / "shared/accounting-logs"
COMPLEX = "name shortcut type relop requestable consumable default urgency\n"
COMPLEX += "gpu gpu INT <= YES YES 0 0\n"


def log(kind: str, runs: list[Run]) -> tuple[str, str]:
    """Return the source of a kind of log, and the text of its log."""
    texts: dict[str, Callable[[], str]] = {
        "pbs": lambda: pbs(runs),
        "lsf": lambda: lsf(runs),
        "sge": lambda: grid_engine(runs, 1),
        "uge": lambda: grid_engine(runs, 1000),
    }
    return {"sge": "gridengine", "uge": "gridengine"}.get(kind, kind), texts[kind]()


def when(moment: float) -> datetime:
    return datetime.fromtimestamp(moment, UTC).replace(tzinfo=None)


@pytest.mark.parametrize("kind", ["pbs", "lsf", "sge", "uge"])
def test_a_fortnight_gives_the_schedule_back(kind: str, tmp_path: Path, ingested: Ingest) -> None:
    runs = fortnight(seed=5)
    source, text = log(kind, runs)
    (raw := tmp_path / "raw").mkdir()
    (raw / "accounting").write_text(text)
    if source == "gridengine":
        (raw / "complexes").write_text(COMPLEX)
    assert detect_source(raw)[0] == source
    ended = {0: ("Pass", "completed"), 1: ("Failed", "failed"), 143: ("Failed", "time_limit")}
    trace = ingested(source, raw)
    rows = trace.rows(
        "select j.user, j.vc, j.gpus, j.submitted_at, a.started_at, a.ended_at, j.status, "
        "a.end_reason, a.exit_code from jobs as j join attempts as a using (job_id) "
        "order by j.submitted_at, a.started_at"
    )
    held = trace.rows(
        "select a.started_at, j.user, machine_id, p.gpus from placements as p join attempts as a "
        "using (job_id, attempt) join jobs as j using (job_id)"
    )
    assert rows == [
        (
            *(run.user, run.queue, run.gpus, when(run.submitted), when(run.started)),
            *(when(run.ended), *ended[run.exit_code], run.exit_code),
        )
        for run in sorted(runs, key=lambda run: (run.submitted, run.started))
    ]
    known: list[tuple[datetime, str, str, int | None]] = [
        (when(r.started), r.user, h, n) for r in runs for h, n in r.held if n
    ]
    if source == "gridengine":  # the lines of a gang do not say how its GPUs divide
        held = [(*row[:3], None) for row in held]
        known = [(*row[:3], None) for row in known]
    assert sorted(map(str, held)) == sorted(map(str, known))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pbs", "lsf", "sge", "uge"])
@pytest.mark.parametrize("seed", [5, 6])
def test_a_fortnight_gives_the_causes_of_waits_back(
    kind: str, seed: int, tmp_path: Path, ingested: Ingest
) -> None:
    runs = fortnight(seed)
    source, text = log(kind, runs)
    (raw := tmp_path / "raw").mkdir()
    (raw / "accounting").write_text(text)
    if source == "gridengine":
        (raw / "complexes").write_text(COMPLEX)
    check_causes(ingested(source, raw), shares(runs))


@pytest.mark.parametrize("kind", quick_first(["pbs", "lsf", "uge"]))
def test_two_appends_equal_one_ingest(kind: str, tmp_path: Path, ingested: Ingest) -> None:
    source, text = log(kind, fortnight(seed=6, jobs=60))
    lines = text.splitlines(keepends=True)
    whole, halves = tmp_path / "whole", tmp_path / "halves"
    whole.mkdir()
    halves.mkdir()
    for name, part in (("1", lines[:100]), ("2", lines[100:])):
        (whole / name).write_text("".join(part))
        (halves / name).write_text("".join(part))
    at_once = ingested(source, whole)
    grown = tmp_path / "grown"
    ingest(source, halves / "1", grown, append=True)
    ingest(source, halves / "2", grown, append=True)
    assert_equal_tables(
        Path(at_once.trace.path), grown, ["jobs", "attempts", "placements", "machines"]
    )


@pytest.mark.skipif(not REAL.is_dir(), reason=f"no real accounting logs at {REAL}")
@pytest.mark.parametrize(
    ("name", "source", "gpus", "rejected"),
    [
        ("pbs", "pbs", [0, 0, 0, 0, 0, 1, 2, 4, 4], 0),
        ("lsf", "lsf", [0], 1),
        ("sge", "gridengine", [0], 1),
        ("uge", "gridengine", [0, 1], 0),
    ],
)
def test_real_lines_count_gpus_as_their_fields_say(
    name: str, source: str, gpus: list[int], rejected: int, ingested: Ingest
) -> None:
    raw = REAL / f"{name}.log"
    assert detect_source(raw)[0] == source
    trace = ingested(source, raw)
    assert sorted(n for (n,) in trace.rows("select gpus from jobs")) == gpus
    attempts = trace.account("attempts")
    assert (attempts.kept, sum(attempts.rejected.values())) == (len(gpus), rejected)


E = "02/02/2026 03:00:00;E;7.s;user=ann queue=q ctime=1769990000 qtime=1769990000 etime=1769990000 "


def pbs_job(tmp_path: Path, ingested: Ingest, *lines: str) -> list[tuple[object, ...]]:
    (tmp_path / "log").write_text("".join(f"{line}\n" for line in lines))
    return ingested("pbs", tmp_path / "log").rows(
        "select job_id, attempt, status, end_reason, exit_code, ended_by, "
        "epoch(started_at)::bigint, epoch(ended_at)::bigint, a.gpus "
        "from attempts as a join jobs using (job_id) order by job_id, attempt"
    )


@pytest.mark.slow
def test_pbs_reruns_are_attempts_and_a_deletion_kills(tmp_path: Path, ingested: Ingest) -> None:
    rows = pbs_job(
        tmp_path,
        ingested,
        E.replace(";E;", ";R;") + "start=1769990100 end=1769990200 Exit_status=-3 run_count=1 "
        "exec_vnode=(n1:ngpus=2)",
        "02/02/2026 03:00:10;D;7.s;requestor=root@head",
        E + "start=1770000000 end=1770001200 Exit_status=271 run_count=2 exec_vnode=(n1:ngpus=2)",
    )
    assert rows == [
        ("7.s", 1, "Killed", "requeued", None, None, 1769990100, 1769990200, 2),
        ("7.s", 2, "Killed", "killed", 143, "root", 1770000000, 1770001200, 2),
    ]


@pytest.mark.slow
def test_pbs_waiting_and_running_jobs(tmp_path: Path, ingested: Ingest) -> None:
    start = "start=1770001200 Resource_List.select=1 Resource_List.ngpus=1 exec_vnode=(n1:ngpus=1)"
    rows = pbs_job(
        tmp_path,
        ingested,
        E.replace("03:00:00;E", "03:00:00;S") + start,  # local time and UTC are equal here
        "02/02/2026 03:00:20;Q;8.s;queue=q",
        "02/02/2026 03:00:30;A;9.s;Job deleted as result of dependency on job 7.s",
    )
    assert rows == [
        ("7.s", 1, None, None, None, None, 1770001200, None, 1),
        ("8.s", 1, None, None, None, None, None, None, 0),
    ]


@pytest.mark.slow
def test_a_job_number_used_again_is_another_job(tmp_path: Path, ingested: Ingest) -> None:
    end = "start=1770000000 end=1770001200 Exit_status=0 exec_vnode=(n1:ngpus=1)"
    again = end.replace("17700", "17800")
    later = E.replace("02/02/2026", "05/28/2026").replace("1769990000", "1779990000")
    rows = pbs_job(tmp_path, ingested, E + end, later + again)
    assert [row[0] for row in rows] == ["7.s", "7.s@2026-05-28T17:40:00"]


@pytest.mark.slow
def test_torque_indices_of_gpus(tmp_path: Path, ingested: Ingest) -> None:
    end = "start=1770000000 end=1770001200 Exit_status=0 Resource_List.nodes=2:ppn=4:gpus=1 "
    (tmp_path / "log").write_text(f"{E}{end}exec_gpus=n1-gpu/3+n2-gpu/0\n")
    trace = ingested("pbs", tmp_path / "log")
    rows = trace.rows("select machine_id, gpu, gpus from placements order by all")
    cpus = trace.rows("select cpus from jobs")
    assert (rows, cpus) == ([("n1", 3, 1), ("n2", 0, 1)], [(8.0,)])


@pytest.mark.slow
def test_servers_come_from_the_schedulers_lists(tmp_path: Path, ingested: Ingest) -> None:
    (raw := tmp_path / "raw").mkdir()
    end = "start=1770000000 end=1770001200 Exit_status=0 exec_vnode=(n1:ngpus=1)"
    (raw / "log").write_text(f"{E}{end}\n")
    (raw / "nodes").write_text(
        "n1\n     Mom = n1.site\n     state = free\n     resources_available.host = n1\n"
        "     resources_available.mem = 1048576kb\n     resources_available.ncpus = 64\n"
        "     resources_available.ngpus = 8\n\nn2\n     state = down\n"
        "     resources_available.host = n2\n     resources_available.ngpus = 4\n"
    )
    rows = ingested("pbs", raw).rows(
        "select machine_id, gpus, cpus, mem_gb from machines order by 1"
    )
    assert rows == [("n1", 8, 64.0, 1.073741824), ("n2", 4, None, None)]


def test_logs_of_two_schedulers_are_not_guessed(tmp_path: Path) -> None:
    runs = fortnight(seed=1, jobs=3)
    (tmp_path / "one").write_text(pbs(runs))
    (tmp_path / "two").write_text(lsf(runs))
    with pytest.raises(InputError, match="fits several sources: pbs, lsf"):
        detect_source(tmp_path)
