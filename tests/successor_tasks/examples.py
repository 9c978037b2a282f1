"""Examples of typical changes of the package, as edits of its files."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Edit:
    """A new file, or a replacement in an existing file.

    Attributes
    ----------
    path
        The file, from the repository's root.
    new
        The text of the new file, or what replaces `old`.
    old
        Text that occurs once in the file; empty for a new file.
    """

    path: str
    new: str
    old: str = ""

    def apply(self, root: Path) -> None:
        """Make the edit in a copy of the repository."""
        file = root / self.path
        if not self.old:
            assert not file.exists(), f"{self.path} exists"
            file.write_text(self.new, "utf-8")
            return
        text = file.read_text("utf-8")
        assert text.count(self.old) == 1, f"{self.path} has {text.count(self.old)} × {self.old!r}"
        file.write_text(text.replace(self.old, self.new), "utf-8")


_PACKAGE = "philly_analysis"
_API, _FINDINGS, _WRITER = "api.py", "report/findings.py", "exports/writer.py"

_ANALYSIS_SQL = """\
-- How many jobs come at each hour of the day?
-- One row per hour.
--   hour  hour of the day, UTC
--   jobs  jobs submitted in it
select hour(submitted_at) as hour, count(*) as jobs
from jobs
group by all
order by all
"""
_ANALYSIS = '''\
"""Jobs by hour of submission.

Hours are UTC, and not those of the users' clocks: shift them by the cluster's time zone first.
"""

from matplotlib.figure import Figure

from philly_analysis.results import Fact, Result, figures
from philly_analysis.trace import Trace

QUESTION = "At which hours do users submit jobs?"
NEEDS = ("jobs",)


def compute(trace: Trace) -> Result:
    """Count jobs by hour."""
    table = trace.answer("jobs_by_hour").df()
    jobs = Fact("jobs", int(table["jobs"].sum()), "jobs")
    return Result("jobs_by_hour", table, facts=(jobs,), sentences=(f"{jobs.value} jobs.",))


def plot(result: Result) -> Figure:
    """Draw jobs by hour."""
    fig, [ax] = figures.canvas()
    ax.plot(result.table["hour"], result.table["jobs"])
    return fig
'''

_POLICY = '''\
"""Smallest gang first."""

from dataclasses import dataclass
from typing import Any

from philly_analysis.simulator.policies.priority import Fifo


@dataclass(frozen=True)
class SmallestFirst(Fifo):
    """Smallest gang first, without preemption."""

    name = "smallest"
    SOURCE = "textbook"

    def key(self, job: Any, now_s: float) -> Any:
        """Return the gang size and the submission."""
        return (job.size, job.spec.submit_s)
'''
_POLICIES = "simulator/policies/__init__.py"

_FORMAT = '''\
"""Jobs as rows of start, length and size."""

import polars as pl

from philly_analysis.exports import codec
from philly_analysis.exports.dialect import FILE
from philly_analysis.exports.request import Request


def _content(request: Request) -> codec.Content:
    rows = request.jobs.select(
        "id",
        submit_time=pl.col("submit_s").round().cast(pl.Int64),
        num_gpu="gpus",
        duration=pl.col("run_s").round().clip(1).cast(pl.Int64),
    )
    return codec.Content({FILE: rows})


def _accepted(request: Request, rows: pl.DataFrame) -> codec.Accepted:
    return codec.accepted_jobs(request, rows["num_gpu"], rows["duration"])


TINY = codec.read_format("tiny", tiny=codec.delimited(_content, _accepted))
'''
_FORMAT_TOML = """\
[dialects.tiny]
program = "a simulator that reads a CSV of jobs"
rules = "every job, times in whole seconds"
carries = "arrival, gang size, run time"

[layouts.tiny]
ascending = "submit_time"
unique = "id"
[layouts.tiny.fields]
id = "name"
submit_time = "count"
num_gpu = "positive"
duration = "positive"
"""

_FORMAT_ROW = (
    "| tiny | tiny | a simulator that reads a CSV of jobs | – | arrival, gang size, run time |\n"
)

_FAMILY = """\
        Family(
            "log_logistic", ("shape", "scale"), ("positive", "positive"),
            lambda t: scipy.stats.fisk(t[0], scale=t[1]), _log_logistic,
        ),
"""
_FAMILY_FIT = """\
_log_logistic = _maximum_likelihood(
    lambda x, c, s: np.log(c / s) + (c - 1) * np.log(x / s) - 2 * np.log1p((x / s) ** c),
    lambda x, c, s: -np.log1p((x / s) ** c),
    lambda x: (1.8 / max(float(np.log(x).std()), 0.01), float(np.median(x))),
)


"""

_DOC = '    """List the numbers that the study printed, and where.\n'
_OPTION_DOC = """
    Parameters
    ----------
    unit
        Only numbers in this unit.
"""
_OPTION_USE = """\
    numbers = list_published()
    return numbers if unit is None else numbers[numbers["unit"] == unit]
"""

_COLUMN = """\
        by_gpu("temperature_c", "temperature", "u < 0"),
"""
_NEXT_COLUMN = '        by_gpu("power_w"'

_SIGNATURE = """\
[[signature]]
id = "mpi_launcher_lost"
pattern = '\\bfabric manager lost its launcher \\d{1,6}'
hints = ["lost its launcher"]
example = "fabric manager lost its launcher 17"

"""


def _before(path: str, anchor: str, text: str) -> Edit:
    """Insert text before an anchor, which occurs once in the file."""
    return Edit(f"{_PACKAGE}/{path}", text + anchor, anchor)


def _replace(path: str, old: str, new: str) -> Edit:
    return Edit(f"{_PACKAGE}/{path}", new, old)


def _create(path: str, text: str) -> Edit:
    return Edit(f"{_PACKAGE}/{path}", text)


EXAMPLES: dict[str, tuple[Edit, ...]] = {
    "An analysis": (
        _create("analyses/jobs_by_hour.sql", _ANALYSIS_SQL),
        _create("analyses/jobs_by_hour.py", _ANALYSIS),
        _replace(_FINDINGS, "retries arrivals", "retries jobs_by_hour arrivals"),
    ),
    "A policy": (
        _create("simulator/policies/smallest.py", _POLICY),
        _before(
            _POLICIES,
            "from philly_analysis.simulator.policies.synergy import",
            "from philly_analysis.simulator.policies.smallest import SmallestFirst\n",
        ),
        _replace(_POLICIES, "AntMan, Recorded)", "AntMan, Recorded, SmallestFirst)"),
    ),
    "An export format": (
        _create("exports/formats/tiny.py", _FORMAT),
        _create("exports/formats/tiny.toml", _FORMAT_TOML),
        _before(
            _WRITER,
            "from philly_analysis.exports.formats.tiresias import",
            "from philly_analysis.exports.formats.tiny import TINY\n",
        ),
        _replace(_WRITER, "    OPENDC,\n", "    OPENDC,\n    TINY,\n"),
        _before("exports/README.md", "| swf | swf |", _FORMAT_ROW),
    ),
    "A column of samples": (
        _before("trace/schema.py", _NEXT_COLUMN, _COLUMN),
        _before(
            "ingest/telemetry/gpu_samples.sql",
            "  case when count(cells.mem_used_gb)",
            "  null as temperature_c,\n",
        ),
    ),
    "Other gang buckets": (
        _replace(
            "study/terms.py",
            "GANG_BUCKETS = buckets(1, 4, 8)",
            "GANG_BUCKETS = buckets(1, 2, 8, 16)",
        ),
    ),
    "A chapter of the report": (
        _replace(_FINDINGS, ' concentration",', '",'),
        _before(_FINDINGS, '    "Queueing": "', '    "Fairness": "concentration",\n'),
    ),
    "A distribution": (
        _before("distributions/families.py", "FAMILIES: dict[str, Family]", _FAMILY_FIT),
        _before("distributions/families.py", '        Family(\n            "pareto",', _FAMILY),
    ),
    "A failure signature": (
        _before(
            "failures/signatures/mpi_error.toml",
            '[[signature]]\nid = "mpi_err_class"',
            _SIGNATURE,
        ),
    ),
    "An option of a verb": (
        _replace(_API, "def published()", "def published(*, unit: str | None = None)"),
        _replace(_API, _DOC, _DOC + _OPTION_DOC),
        _replace(_API, "    return list_published()\n", _OPTION_USE),
    ),
    "Another lock": (
        _replace(
            "atomic.py",
            "from filelock import FileLock, Timeout",
            "from filelock import SoftFileLock as FileLock, Timeout",
        ),
    ),
    "Another colour map": (
        _replace(
            "results/figures/style.py",
            '("#8fb8de", "#3d7ab5", "#1b3f73")',
            '("#9fd3a5", "#3f9a52", "#14532d")',
        ),
    ),
}
"""Edits by the heading of the task in ``docs/extend.md``."""
