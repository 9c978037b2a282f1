"""Workload models: fitted parameters, sampling, and the models that ship."""

from philly_analysis.models.between_period import PERIOD_D
from philly_analysis.models.library import load_model, models, shipped
from philly_analysis.models.observations import Observations
from philly_analysis.models.outlook import DRAWS, month_outlook
from philly_analysis.models.work import (
    Work,
    as_model,
    jobs_of,
    model_of,
    one_workload,
    require_jobs_of,
)
from philly_analysis.models.workload_model import WorkloadModel
