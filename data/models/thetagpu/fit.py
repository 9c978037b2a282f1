"""Fit a model to the job log of ThetaGPU.

    python -m data.models.thetagpu.fit

The input is the extract `thetagpu-2023`.
"""

from dataclasses import replace

from data.models.extracts import observed
from data.models.shipping import ship
from philly_analysis.models import WorkloadModel

THETA = "ALCF ThetaGPU job log, as published by DIR-LAB/lumos, MIT"


def thetagpu() -> WorkloadModel:
    """Fit the model of ThetaGPU."""
    model = WorkloadModel.fit(observed("thetagpu"))
    return replace(
        model,
        cannot_know=(
            "Gang sizes are allocations as published, which may not be GPUs.",
            *model.cannot_know,
        ),
        sources=(THETA,),
    )


if __name__ == "__main__":
    ship(thetagpu())
