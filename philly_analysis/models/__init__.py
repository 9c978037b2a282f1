"""Workload models: fitted parameters, sampling, and the models that ship."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from philly_analysis.models.between_period import PERIOD_D
    from philly_analysis.models.library import load_model, models, shipped
    from philly_analysis.models.observations import Observations
    from philly_analysis.models.outlook import DRAWS, month_outlook
    from philly_analysis.models.validation import VALIDATIONS
    from philly_analysis.models.work import Work, as_model, jobs_of, model_of, one_workload
    from philly_analysis.models.workload_model import WorkloadModel

_NAMES = {
    "between_period": "PERIOD_D",
    "library": "load_model models shipped",
    "observations": "Observations",
    "outlook": "DRAWS month_outlook",
    "validation": "VALIDATIONS",
    "work": "Work as_model jobs_of model_of one_workload",
    "workload_model": "WorkloadModel",
}
"""Names by module."""

_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}
"""Module of each name, which is imported on first use."""

if not TYPE_CHECKING:  # type checkers would accept every name

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
