"""What a workload model is made of: the fitted parts, and what is known of where they come from."""

from dataclasses import dataclass

from philly_analysis.models.between_period import Variation
from philly_analysis.models.components.arrivals import Arrivals
from philly_analysis.models.components.duration import Duration
from philly_analysis.models.components.failures import Failures
from philly_analysis.models.components.gang_size import GangSize
from philly_analysis.models.components.locality import Locality
from philly_analysis.models.components.status import Status
from philly_analysis.models.components.users import Users
from philly_analysis.models.components.utilisation import Utilisation


@dataclass(frozen=True, slots=True)
class Servers:
    """Servers of one size in the cluster."""

    gpus: int
    machines: int


@dataclass(frozen=True, slots=True)
class Parts:
    """Fitted numbers, nothing else: what a model's file holds.

    :class:`philly_analysis.models.workload_model.WorkloadModel` adds what one does with them.

    Attributes
    ----------
    name
        What it models.
    fitted_on
        The data, in a sentence.
    cannot_know
        What the data do not say, and what was therefore left out or assumed.
    sources
        Where the data are from and under what licence.
    run_policy
        How attempts became a job's run time.
    status, failures, locality, utilisation
        None where the data have nothing on it.
    servers
        The cluster's servers by size; may be empty.
    variation
        How much another month differs; None: every month is the fitted one.
    """

    name: str
    fitted_on: str
    cannot_know: tuple[str, ...]
    sources: tuple[str, ...]
    run_policy: str
    arrivals: Arrivals
    gang_size: GangSize
    duration: Duration
    users: Users
    status: Status | None = None
    failures: Failures | None = None
    locality: Locality | None = None
    utilisation: Utilisation | None = None
    servers: tuple[Servers, ...] = ()
    variation: Variation | None = None

    @property
    def gpus(self) -> int | None:
        """GPUs of the cluster; None when its servers are not known."""
        return sum(s.gpus * s.machines for s in self.servers) or None
