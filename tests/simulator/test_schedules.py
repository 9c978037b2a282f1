"""Simulate the schedules drawn by hand in schedules.toml."""

import re
import tomllib
from dataclasses import fields, replace
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from philly_analysis.simulator import (
    POLICIES,
    SPEEDS,
    Outage,
    policy_named,
    run,
)
from philly_analysis.workload import JobSpec, fleet
from tests.simulator.drawn import done, gantt, job, machines
from tests.simulator.reference import Bars

SCHEDULES = tomllib.loads(Path(__file__).with_name("schedules.toml").read_text("utf-8"))["schedule"]
ENDINGS = {
    "": "completed", "!": "preempted", ">": "migrated", "^": "resized", "x": "failed",
    "#": "node_failure", "t": "time_limit",
}  # fmt: skip


def read_jobs(text: str) -> list[JobSpec]:
    return [_job(*part.split()) for part in text.split(",")]


def _job(name: str, submit_s: str, size: str, *texts: str) -> JobSpec:
    gpus, runs_s = size.split("x")
    spec = job(name, float(submit_s), max(int(float(gpus)), 1), *map(float, runs_s.split("+")))
    values = dict(text.split("=") for text in texts)
    numbers = {f.name for f in fields(spec) if str(f.type).startswith("float")}
    arguments: dict[str, Any] = {k: float(v) if k in numbers else v for k, v in values.items()}
    return replace(spec, gpu_frac=min(float(gpus), 1.0), **arguments)


def read_bars(text: str) -> Bars:
    """Read attempts by job."""
    bars = {}
    for name, attempts in re.findall(r"(\w+) ([^,]+)", text):
        parts = re.findall(r"([\d.]+)-([\d.]+)(\S?)", attempts)
        bars[name] = [(float(start_s), float(end_s), ENDINGS[how]) for start_s, end_s, how in parts]
    return bars


@pytest.mark.parametrize("drawn", SCHEDULES, ids=itemgetter("name"))
def test_a_schedule_is_as_drawn(drawn: dict[str, Any]) -> None:
    speed = replace(SPEEDS[drawn.get("speed", "recorded")](), **drawn.get("assume", {}))
    schedule = run(
        speed.complete(read_jobs(drawn["jobs"]), np.random.default_rng(0)),
        fleet(drawn["servers"]),
        policy_named(drawn["policy"], drawn.get("knobs", {})),
        speed=speed,
        quotas=drawn.get("quotas"),
        dedicated=drawn.get("dedicated", False),
        checkpoint_s=drawn.get("checkpoint_s", 0.0),
        outages=[Outage(*row) for row in drawn.get("outages", ())],
    )
    bars = gantt(schedule)
    expected = read_bars(drawn["bars"])
    assert {name: bars[name] for name in expected} == expected
    for name, values in drawn.get("columns", {}).items():
        table, column = name.split(".")
        assert getattr(schedule, table)[column].to_list() == pytest.approx(values), name


ORDERS = [name for name, p in POLICIES.items() if "consolidate" in {f.name for f in fields(p)}]


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize(("consolidate", "start_s"), [(False, 1), (True, 8)])
def test_a_consolidated_gang_waits_for_one_server(
    name: str, consolidate: bool, start_s: float
) -> None:
    # a and x leave one GPU of each server: b starts on both, or waits for a to end
    jobs = [job("a", 0, 2, 8), job("x", 0, 2, 30), job("b", 1, 2, 10)]
    policy = policy_named(name, {"consolidate": consolidate})
    assert gantt(run(jobs, machines(3, 3), policy))["b"] == done(start_s, start_s + 10)
