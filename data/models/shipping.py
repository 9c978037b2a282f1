"""Write a fitted model to the folder of the models that ship with the package."""

from philly_analysis.models import SHIPPED, WorkloadModel


def ship(model: WorkloadModel) -> None:
    """Write ``philly_analysis/models/shipped/<name>.json``."""
    path = model.save(SHIPPED / f"{model.name}.json")
    print(f"{path.name}: {path.stat().st_size / 1024:,.0f} KB")
