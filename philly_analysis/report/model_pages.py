"""Write the page of a workload model: its fit, and the predictive distribution of a month."""

from dataclasses import replace
from pathlib import Path

from philly_analysis.models import DRAWS, WorkloadModel, month_outlook
from philly_analysis.report.page import Page
from philly_analysis.report.rendering import results_page
from philly_analysis.report.sections import Card, Chapter, section
from philly_analysis.results import Result


def model_page(model: WorkloadModel, out: Path) -> Page:
    """Write the page of a model to a folder of its name in `out`."""
    synthetic = model.fitted_on.startswith("synthetic")
    cards = []
    for answer in month_outlook(model):
        part = replace(answer, synthetic=synthetic)
        cards.append(Card(part.name, part.question, section(part.name, part.question, part)))
    fit = Result(
        "fit",
        model.summary(),
        sentences=(f"Fitted on {model.fitted_on}.", f"{model.run_time_meaning.capitalize()}."),
        caveats=(*model.cannot_know, *model.sources),
        synthetic=synthetic,
        draw=lambda _: model.plot(),
    )
    question = "How near is the model to its data?"
    lede = (
        f"Months of 28 days are drawn from the model's predictive distribution, {DRAWS} in all. "
        "Bands and intervals contain nine of ten of them."
        if model.variation is not None
        else "The model has no variation between months: each is drawn as the fitted one."
    )
    page = results_page(
        f"{model.name}: another month",
        lede,
        [Chapter("The fitted model", (section("fit", question, fit),))],
        out / model.name,
        cards=cards,
    )
    return Page(page)
