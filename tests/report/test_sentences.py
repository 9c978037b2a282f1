"""Print a catalogue of all sentences on traces of 0, 1, few and many jobs, and check its grammar.

``pytest -m slow -s tests/analyses/test_sentences.py`` prints it.
"""

import re
from pathlib import Path

import pandas as pd
import pytest

from philly_analysis import Trace, analyze
from philly_analysis.trace.schema import TABLES

JOBS = {"none": 0, "one passed": 1, "one failed": 1, "one wide": 1, "two": 2, "twelve": 12}
CONDITIONS = {"one passed": "status = 'Pass'", "one failed": "status = 'Failed'"} | {
    "one wide": "gpus > 8"
}
WRONG = re.compile(
    r"\b1 (?:\w+ )?(?:jobs|users|attempts|servers|waits|starts|reasons|machines|clusters|retries)\b"
    r"|\b1 (?:GPU |server-)?(?:hours|minutes|days|weeks|GPUs)\b|\bnan\b|\bNone\b|\binf\b"
    r"|  |,,|\.\.(?!\.)|\b0 of 0(?![.\d])"
)
"""A plural after 1, missing values, and broken punctuation."""


def part(sample: Trace, jobs: int, where: str) -> dict[str, pd.DataFrame]:
    """Return the tables of the sample with a number of its jobs, which fulfil a condition."""
    chosen = sample.sql(
        f"select job_id from jobs where {where} order by hash(job_id) limit {jobs}"
    ).df()["job_id"]
    tables = {
        name: sample.sql(f"select * from {name}").df() for name in sample.tables if name in TABLES
    }
    used = tables["placements"][tables["placements"]["job_id"].isin(chosen)]["machine_id"]
    for name, rows in tables.items():
        if "job_id" in rows:
            tables[name] = rows[rows["job_id"].isin(chosen)]
        elif name.endswith("_samples"):
            tables[name] = rows[rows["machine_id"].isin(used)]
    return tables


@pytest.mark.slow
def test_sentences_read_well_with_any_number_of_jobs(sample_trace: Path) -> None:
    said: dict[tuple[str, str], list[str]] = {}
    with Trace(sample_trace) as sample:
        for label, jobs in JOBS.items():
            with Trace(part(sample, jobs, CONDITIONS.get(label, "true"))) as trace:
                collect(said, label, trace)
        collect(said, "many", sample)
    for (finding, text), labels in sorted(said.items()):
        print(f"{finding} [{', '.join(labels)}] {text}")  # noqa: T201 - the catalogue
    assert [text for _, text in said if WRONG.search(text)] == []


def collect(said: dict[tuple[str, str], list[str]], label: str, trace: Trace) -> None:
    """Add the label of a trace to each of its sentences."""
    for name, result in analyze(trace).items():
        texts = [*result.sentences, *result.caveats]
        if (v := result.verdict) is not None:
            card = (v.label, f"{v.number} {v.noun}".strip(), v.cost, v.trend, v.advice)
            texts += filter(None, card)
        for text in texts:
            said.setdefault((name, text), []).append(label)
