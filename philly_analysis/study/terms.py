"""The vocabulary of the Philly study: gang buckets, endings, run policies, tiers of failure.

Whatever speaks in these words (SQL macros, schema, models, figures, scripts) takes them from here;
another division of gangs is another line of :data:`GANG_BUCKETS`.
"""

from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True)
class Bucket:
    """A range of GPU counts, from `low` to `high` inclusive; `high` None: no upper end."""

    low: int
    high: int | None

    @property
    def name(self) -> str:
        """The bucket as the study writes it: ``1``, ``2-4``, ``>8``."""
        if self.high is None:
            return f">{self.low - 1}"
        return str(self.low) if self.low == self.high else f"{self.low}-{self.high}"

    @property
    def sql(self) -> str:
        """The bucket as a condition on a column ``gpus``."""
        if self.high is None:
            return f"gpus >= {self.low}"
        return f"gpus between {self.low} and {self.high}"


def buckets(*ends: int) -> tuple[Bucket, ...]:
    """Return the buckets that end at these counts, the first from 1 on, and one above them."""
    inner = tuple(Bucket(below + 1, end) for below, end in pairwise((0, *ends)))
    return (*inner, Bucket(ends[-1] + 1, None))


GANG_BUCKETS = buckets(1, 4, 8)
"""The study's gang sizes (ATC'19, Figures 2 and 3)."""

GANGS = tuple(b.name for b in GANG_BUCKETS)
"""Names of the gang buckets, in order."""

LARGE_GPUS = 5
"""GPUs from which the study calls a gang large (ATC'19, Figure 4)."""

LARGE_GANGS = tuple(b.name for b in GANG_BUCKETS if b.low >= LARGE_GPUS)
"""Names of the gang buckets that hold large gangs only."""

DEMAND_BUCKETS = buckets(1, 4)
"""The study's demand of failed attempts (ATC'19, Table 7)."""


def gang_class(gpus: "ArrayLike") -> "NDArray[np.int_]":
    """Return the index into :data:`GANGS` of each gang size (shape kept)."""
    import numpy as np  # the words alone do without, and whoever asks for help gets them sooner

    ends = [b.high for b in GANG_BUCKETS if b.high is not None]
    return np.searchsorted(ends, np.asarray(gpus), side="left")


PASS, KILLED, FAILED = "Pass", "Killed", "Failed"

STATUSES = (PASS, KILLED, FAILED)
"""How a job ended, in the words of the Philly archive (the study's third is 'unsuccessful')."""

END_REASONS = (
    *("completed", "failed", "killed", "time_limit", "out_of_memory", "node_failure"),
    *("preempted", "requeued", "migrated", "resized", "rejected"),
)
"""How an attempt ended; rejected: the scheduler refused to run it. Null where no source says it."""

LAST_END = {PASS: "completed", KILLED: "killed", FAILED: "failed"}
"""How the last attempt of a job ended, by the job's status, where nothing finer is known."""

STATUS_AFTER = {"completed": PASS, "killed": KILLED, "time_limit": KILLED}
"""Status of a job by how its last attempt ended; any other end: failed."""


class RunPolicy(StrEnum):
    """How attempts become a job's run time."""

    SPAN = "span"  # waits between attempts are in it
    SUM = "sum"
    LAST = "last"

    @property
    def meaning(self) -> str:
        """The policy in words."""
        return {
            RunPolicy.SPAN: "first start to last end",
            RunPolicy.SUM: "sum of its attempts",
            RunPolicy.LAST: "its last attempt",
        }[self]


class Estimates(StrEnum):
    """What a scheduler is told of run times before they are known."""

    EXACT = "exact"
    NOISY = "noisy"
    ROUNDED = "rounded"
    HISTORY = "history"


class Gangs(StrEnum):
    """What becomes of gangs whose size a program does not take."""

    DROP = "drop"
    ROUND = "round"
    SPLIT = "split"


Tier = Literal["IF", "AE", "U"]
"""The study's tiers of failure (ATC'19, Section 4): infrastructure, AI engine, user."""


def _case(name: str, buckets: tuple[Bucket, ...]) -> str:
    whens = "\n".join(f"  when {b.sql} then '{b.name}'" for b in buckets)
    return f"create or replace macro {name}(gpus) as\ncase\n{whens}\nend;\n"


TERM_MACROS = (
    _case("gang_bucket", GANG_BUCKETS)
    + _case("demand_bucket", DEMAND_BUCKETS)
    + f"create or replace macro passed(status) as status = '{PASS}';\n"
    + f"create or replace macro failed(status) as status = '{FAILED}';\n"
    + f"create or replace macro killed(status) as status = '{KILLED}';\n"
    + f"create or replace macro is_large(gpus) as gpus >= {LARGE_GPUS};\n"
)
"""The vocabulary as SQL functions, null for no or unknown GPUs."""
