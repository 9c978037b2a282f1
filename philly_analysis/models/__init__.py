"""Workload models: fitted parameters, sampling, and the models that ship."""

from typing import TYPE_CHECKING

from philly_analysis.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from philly_analysis.models.between_period import (
        ESTIMATED,
        PERIOD_D,
        Estimate,
        Variation,
    )
    from philly_analysis.models.library import SHIPPED, load_model, models, shipped
    from philly_analysis.models.observations import Observations, open_with_run_policy
    from philly_analysis.models.outlook import DRAWS, month_outlook
    from philly_analysis.models.sampling import draw_jobs
    from philly_analysis.models.validation import VALIDATIONS
    from philly_analysis.models.weekly_jobs import RUN_TIMES_S
    from philly_analysis.models.work import (
        Work,
        as_model,
        model_of,
        one_workload,
        require_jobs_of,
    )
    from philly_analysis.models.workload_model import MONDAY, WorkloadModel

if not TYPE_CHECKING:  # type checkers would accept every name
    __getattr__, __dir__ = lazy_imports(
        __name__,
        {
            "between_period": "ESTIMATED PERIOD_D Estimate Variation",
            "library": "SHIPPED load_model models shipped",
            "observations": "Observations open_with_run_policy",
            "outlook": "DRAWS month_outlook",
            "sampling": "draw_jobs",
            "validation": "VALIDATIONS",
            "weekly_jobs": "RUN_TIMES_S",
            "work": "Work as_model model_of one_workload require_jobs_of",
            "workload_model": "MONDAY WorkloadModel",
        },
    )
