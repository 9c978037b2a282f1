"""Fitted parts of a workload model and their provenance."""

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
from philly_analysis.models.long_jobs import LongJobs
from philly_analysis.models.site_variation import SiteVariation
from philly_analysis.study import RunPolicy


@dataclass(frozen=True, slots=True)
class Servers:
    """Servers of one size in the cluster."""

    gpus: int
    machines: int


@dataclass(frozen=True, slots=True)
class Parts:
    """Fitted numbers of a model, as in its file; `WorkloadModel` adds the methods.

    Attributes
    ----------
    name
        Name of the model.
    fitted_on
        The data, in a sentence.
    cannot_know
        What the data do not contain, and what is therefore excluded or assumed.
    sources
        Origin and licence of the data.
    run_policy
        How attempts count in a job's run time.
    status, failures, locality, utilisation
        Fitted component; None: the data lack the numbers for the component.
    servers
        The cluster's servers by size; may be empty.
    variation
        Variation between periods; None: every period is the fitted period.
    site
        Variation of the site, given the weeks of its log; None: the site varies as others do.
    long_jobs
        Long jobs of the log; None: their number and run times do not vary beyond their classes.
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
    site: SiteVariation | None = None
    long_jobs: LongJobs | None = None

    @property
    def run_time_meaning(self) -> str:
        """Phrase: what the run time of a job is."""
        is_policy = self.run_policy in list(RunPolicy)
        return f"run time: {RunPolicy(self.run_policy).meaning if is_policy else self.run_policy}"

    @property
    def cluster_gpus(self) -> int | None:
        """GPUs of the cluster; None if its servers are unknown."""
        return sum(s.gpus * s.machines for s in self.servers) or None
