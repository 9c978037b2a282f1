"""Check the verdict rules of claims, and that the list of claims is complete."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from philly_analysis.atlas import catalogue
from philly_analysis.atlas.catalogue import CLAIMS
from philly_analysis.atlas.claim import Claim, Margin, Verdict
from philly_analysis.atlas.decision import evaluate_claim
from philly_analysis.atlas.evaluation import evaluate
from philly_analysis.atlas.profile import LACKS, describe
from philly_analysis.atlas.resampling import FEWEST_BLOCKS, Estimate
from philly_analysis.study.published_numbers import numbers
from philly_analysis.trace.manifest import SELECTION_CRITERIA, Sample
from philly_analysis.trace.relations import relations
from philly_analysis.trace.schema import TABLES
from philly_analysis.trace.trace import Trace
from tests.support.clusters import Rows, frame, write_tables
from tests.support.slow import quick_first

FOLDER = Path(catalogue.__file__).parent
ABOVE = next(c for c in CLAIMS.values() if c.above)
BELOW = next(c for c in CLAIMS.values() if not c.above)
HOLDS, NOT, UNDECIDED = Verdict.HOLDS, Verdict.REVERSED, Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("low", "high", "above", "below"),
    [
        (5.1, 7.0, HOLDS, NOT),
        (3.0, 4.9, NOT, HOLDS),
        (4.9, 5.1, UNDECIDED, UNDECIDED),
        (5.0, 7.0, UNDECIDED, UNDECIDED),  # the threshold itself is in the interval
        (3.0, 5.0, UNDECIDED, UNDECIDED),
        (5.1, np.inf, HOLDS, NOT),
        (np.nan, np.nan, UNDECIDED, UNDECIDED),
    ],
)
def test_a_verdict_rests_on_the_whole_interval(
    low: float, high: float, above: Verdict, below: Verdict
) -> None:
    effect = Estimate((low + high) / 2, low, high)
    assert replace(ABOVE, threshold=5).verdict(effect) is above
    assert replace(BELOW, threshold=5).verdict(effect) is below


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.9, 1.1, Verdict.ABSENT),  # the ends belong to the margin
        (1.01, 1.09, Verdict.ABSENT),  # an effect that does not matter
        (0.89, 1.1, UNDECIDED),
        (0.9, 1.11, UNDECIDED),
        (1.01, 1.11, HOLDS),
        (0.89, 0.99, NOT),
        (np.nan, np.nan, UNDECIDED),
    ],
)
def test_an_effect_within_the_margin_is_practically_absent(
    low: float, high: float, verdict: Verdict
) -> None:
    claim = replace(ABOVE, threshold=1, margin=Margin(0.9, 1.1, "Too little."))
    assert claim.verdict(Estimate(1, low, high)) is verdict


def cluster(
    folder: Path,
    users: int,
    each: int,
    sample: Sample | None = None,
    *,
    run_s: float = 60,
    known: int | None = None,
) -> Trace:
    """Jobs of some users on one GPU, an hour apart, each running as long.

    The user of the first `known` jobs is known; None: of all.
    """
    jobs, attempts = [], []
    for i in range(users * each):
        user = f"u{i % users}" if known is None or i < known else None
        jobs.append((f"j{i}", None, user, 1, 60 * i, None))
        attempts.append((f"j{i}", 1, run_s, 1))
    columns = ("job_id", "attempt", "run_s", "gpus")
    tables: dict[str, Rows] = {"jobs": jobs, "attempts": frame("attempts", columns, attempts)}
    return Trace(write_tables(folder / "t", tables, synthetic=False, sample=sample))


SHORT = CLAIMS["jobs_are_short"]


def asked(trace: Trace, claim: Claim) -> tuple[Verdict, str]:
    answer = evaluate_claim(trace, claim, describe(trace, "t"))
    return answer.verdict, answer.why


@pytest.mark.parametrize(
    ("run_s", "verdict"), quick_first([(3_599.0, HOLDS), (3_601.0, NOT), (3_600.0, UNDECIDED)])
)
def test_on_each_side_of_the_threshold(tmp_path: Path, run_s: float, verdict: Verdict) -> None:
    with cluster(tmp_path, FEWEST_BLOCKS, 4, run_s=run_s) as trace:
        assert asked(trace, SHORT)[0] is verdict


@pytest.mark.parametrize(
    ("users", "each", "why"),
    quick_first(
        [
            (FEWEST_BLOCKS - 1, 4, "11 users are too few for an interval."),
            (FEWEST_BLOCKS, 2, "Too few jobs: 24."),
            (4, 10, "Too few users with jobs: 4."),
        ]
    ),
)
def test_few_observations_or_clusters_have_no_interval(
    tmp_path: Path, users: int, each: int, why: str
) -> None:
    with cluster(tmp_path, users, each) as trace:
        assert asked(trace, SHORT) == (UNDECIDED, why)


def test_what_a_trace_lacks_is_named(tmp_path: Path) -> None:
    with cluster(tmp_path, 20, 4) as trace:
        assert asked(trace, CLAIMS["waits_rise_with_gangs"]) == (
            UNDECIDED,
            "Lacks starts, so waits.",
        )
        assert asked(trace, CLAIMS["fragmentation_delays_most"]) == (
            UNDECIDED,
            "Lacks placements, machines, quotas, virtual clusters and starts, so waits.",
        )
        assert {"users", "run times"}.isdisjoint(describe(trace, "t").lacks)


@pytest.mark.parametrize(("known", "lacks"), [(39, True), (40, False)])
def test_users_of_fewer_than_half_of_the_jobs_are_unknown(
    tmp_path: Path, known: int, lacks: bool
) -> None:
    with cluster(tmp_path, 20, 4, known=known) as trace:
        _, why = asked(trace, CLAIMS["gpu_time_is_of_few_users"])
        assert ("users" in describe(trace, "t").lacks) == (why == "Lacks users.") == lacks


def test_samples_are_refused_or_named(tmp_path: Path) -> None:
    chosen = Sample("Long jobs only.", ("run_time",))
    with cluster(tmp_path / "a", 20, 4, chosen) as trace:
        assert asked(trace, SHORT) == (UNDECIDED, "A sample, selected by run time.")
    chosen = Sample("Passed jobs only.", ("status",))
    with cluster(tmp_path / "b", 20, 4, chosen) as trace:
        answer = evaluate_claim(trace, SHORT, describe(trace, "t"))
    assert (answer.verdict, answer.notes) == (HOLDS, ("Passed jobs only.",))
    with cluster(tmp_path / "c", 20, 4) as trace:
        assert evaluate_claim(trace, SHORT, describe(trace, "t")).notes == ()


@pytest.mark.slow
def test_traces_of_one_name_are_numbered(tmp_path: Path) -> None:
    with cluster(tmp_path / "a", 2, 2) as one, cluster(tmp_path / "b", 2, 2) as other:
        atlas = evaluate([one, other])
    assert [c.name for c in atlas.clusters] == ["t (1)", "t (2)"]
    assert len(atlas.table) == 2 * len(CLAIMS)


def test_every_relation_is_a_claims_and_every_claim_is_whole() -> None:
    files = {f.stem for f in FOLDER.glob("*.sql")}
    assert files == {c.relation for c in CLAIMS.values()} - {"locality_effect"} | {"known_columns"}
    names = {*TABLES, *LACKS}
    for name, claim in CLAIMS.items():
        assert name == claim.name and claim.relation in relations()
        assert set(claim.needs) <= names
        assert (claim.invalid_for | claim.biased_by) <= SELECTION_CRITERIA.keys()
        assert not claim.invalid_for & claim.biased_by
        if claim.margin:
            assert claim.margin.low < claim.margin.high and claim.margin.reason.endswith(".")
        assert claim.question.endswith(".") and claim.published.text.endswith(".")


@pytest.mark.parametrize("table", ["[[claim]]", "[claim.measure]", "[claim.published]"])
def test_an_unknown_key_of_the_catalogue_is_refused(table: str) -> None:
    text = (FOLDER / "catalogue.toml").read_text("utf-8")
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        catalogue.read_claims(text.replace(table, f"{table}\ncolour = 1", 1))


def test_what_the_study_prints_is_what_is_published() -> None:
    printed = {n: c.published.value for n, c in CLAIMS.items() if c.published.value is not None}
    number = {k: v.published for k, v in numbers().items()}
    assert printed == {
        "waits_rise_with_gangs": 25 / 10,
        "fragmentation_delays_most": number["delay_causes", "fragmentation_time_pct"],
        "starts_out_of_order": number["out_of_order", "out_of_order_pct"],
        "out_of_order_is_harmless": number["out_of_order", "harmless_5_8_pct"],
        "gpus_are_used_little": number["gpu_util", "mean_all_all_pct"],
        "spread_gangs_use_less": pytest.approx(28.56 - 43.66),
        "killed_jobs_cost_much": 37.69,
        "unsuccessful_jobs_cost_most": pytest.approx((37.69 + 17.76) / (13.5 + 17.2), rel=1e-3),
    }
