"""Check that a job waits for the machines that may serve it."""

import pytest

from tests.support.clusters import MakeTrace, frame


@pytest.mark.slow
def test_a_job_waits_for_the_machines_that_may_serve_it(make_trace: MakeTrace) -> None:
    # the V100s are full until minute 60, the A100s are free but for 10 minutes
    machines = [
        ("m0", 4, "gpu/v100", "v100"),
        ("m1", 4, "gpu/a100", "a100"),
        ("c0", 0, "cpu", None),
    ]
    jobs = [
        ("first", 4, 0, None, "v100"),
        ("short", 4, 0, "gpu/a100", None),
        ("typed", 2, 20, None, "v100"),
        ("named", 2, 20, "gpu/v100", None),
        ("part", 2, 20, "gpu", None),
        ("any", 2, 20, None, None),
        ("none", 2, 20, "tpu", None),
        ("wide", 8, 20, "gpu", None),
    ]
    held = dict.fromkeys(("typed", "named", "part", "any", "none"), ("m0", 60, 61))
    held |= {"first": ("m0", 0, 60), "short": ("m1", 0, 10)}
    attempts = [(j, 1, since, until) for j, (_, since, until) in held.items()]
    placements = [(j, 1, m, 4 if j in ("first", "short") else 2) for j, (m, _, _) in held.items()]
    attempts.append(("wide", 1, 70, 80))
    placements += [("wide", 1, "m0", 4), ("wide", 1, "m1", 4)]
    trace = make_trace(
        frame("jobs", ("job_id", "gpus", "submitted_at", "pool", "gpu_model"), jobs),
        attempts,
        machines=frame("machines", ("machine_id", "gpus", "pool", "gpu_model"), machines),
        placements=frame("placements", ("job_id", "attempt", "machine_id", "gpus"), placements),
    )
    minutes = trace.sql(
        "select job_id, fragmentation_s / 60, unknown_s / 60 from study_causes where wait_s > 0"
    ).fetchall()
    pools = dict(trace.sql("from job_pools").fetchall())
    needs = trace.sql("select job_id, fewest_servers from attempt_servers").fetchall()
    of_machines = trace.sql("select machine_id, pool from machine_pools").fetchall()
    assert {job: rest for job, *rest in minutes} == {
        "typed": [40, 0],
        "named": [40, 0],
        "part": [0, 40],
        "any": [0, 40],
        "none": [0, 40],  # nothing is known of machines that serve it
        "wide": [41, 9],  # and the minute that the others run
    }
    assert pools["typed"] == pools["named"] == pools["first"] == "v100 GPUs"
    assert pools["part"] == pools["any"] == pools["wide"] == "pool gpu"
    assert pools["none"] == "pool tpu"
    assert dict(needs)["wide"] == 2
    assert dict(of_machines) == {"m0": "v100 GPUs", "m1": "pool gpu/a100"}
