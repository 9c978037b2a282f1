"""Fit a model to each cluster of the Microsoft ITP traces.

    python -m data.models.itp.fit

Inputs are the extracts `itp-2021`. Cluster 10 has 260 jobs, too few for a model. Clusters 03 and 09
are held out (`data.checks.coverage`).
"""

from dataclasses import replace

from data.models.extracts import ITP_CLUSTERS, observed
from data.models.shipping import ship
from philly_analysis.models import WorkloadModel

ITP = (
    "Microsoft ITP traces (D. Gu et al., ElasticFlow, ASPLOS 2023; github.com/microsoft/"
    "elasticflow-traces), MIT"
)


def itp(cluster: str) -> WorkloadModel:
    """Fit the model of one cluster, by its number."""
    model = WorkloadModel.fit(observed(f"itp-{cluster}"))
    return replace(
        model,
        cannot_know=(
            "The hours of the day and of the week are counted from the start of the "
            "collection, whose time of day is not published.",
            *model.cannot_know,
        ),
        sources=(ITP,),
    )


if __name__ == "__main__":
    for number in ITP_CLUSTERS:
        if number != "10":
            ship(itp(number))
