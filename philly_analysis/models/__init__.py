"""Workload models: fitted parameters, sampling, and the models that ship."""

from philly_analysis.models.between_period import (
    ESTIMATED,
    PERIOD_D,
    RUN_TIMES_S,
    Estimate,
    Variation,
)
from philly_analysis.models.library import SHIPPED, load_model, models, shipped
from philly_analysis.models.observations import Observations
from philly_analysis.models.outlook import DRAWS, month_outlook
from philly_analysis.models.sampling import draw_jobs
from philly_analysis.models.work import Work, as_model, jobs_of, model_of, one_workload
from philly_analysis.models.workload_model import MONDAY, WorkloadModel
