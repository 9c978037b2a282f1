"""A random trace with a value or a null in every column that a relation reads, and many ties."""

from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl

from philly_analysis.study import END_REASONS, STATUSES
from philly_analysis.trace.schema import TABLES

START = datetime(2017, 10, 30)
"""A Monday; the second hour that Pacific time repeats is on the Sunday after."""

DAYS = 13
END = START + timedelta(days=28)
"""The last moment of the log, a Monday as well."""

_CAPS = {"m0": 16, "m1": 8, "m2": 8, "m3": 4, "m4": 2, "m5": 1, "w4": 4, "w8": 8, "u0": 3, "c0": 0}
_REASONS = ("GPU ECC error", "CUDA failure", "Import error", "No signature")
_FINE = (None, "gpu_fell_off_bus", "nvlink_error", "node_failure", "connection_reset")
_WAITS = (None, "Resources", "Dependency", "QOSGrpGRES", "JobArrayTaskLimit", "QOSNotAllowed")


def add_corner_cases(rows: dict[str, list[dict[str, Any]]]) -> None:
    """Add pools whose attempts touch one another, have no times, last a week, or are sampled."""
    begin = START + timedelta(hours=12)
    killed = {"user": None, "status": "Killed"}
    # job: minutes that its attempts start and end at (None: unknown), its GPUs, other columns
    cases: dict[str, Any] = {
        "packed": ([(0, 60)], [("q0", 0), ("q0", 1)], {}),
        "spread": ([(60, 120)], [("q0", 0), ("q1", 0)], {}),
        "week": ([(120, 120 + 7 * 1440)], [("q0", 0)], {}),
        "untimed": ([(None, None)] * 2, [], {}),
        # of no wait; of exactly a day; all of its pool up to complete_from
        "given up": ([(None, 0)], [], {}),
        "day": ([(0, 1440)], [], {"pool": "d"}),
        "cut off": (
            [(-20, -10)],
            [(m, g) for m in ("q0", "q1") for g in range(2)],
            {"submitted_at": begin - timedelta(minutes=20), "flag": "left_truncated"},
        ),
        "no GPUs": ([(0, None), (50, 60)], [], {}),
        # half of its wait is before it is eligible, half is unknown
        "half": ([(20, 30)], [], {"vc": "v2", "eligible_at": begin + timedelta(minutes=10)}),
        # fits as "packed" ends, when "spread" overtakes it
        "wide": ([(200, 210)], [], {"gpus": 4, "submitted_at": begin - timedelta(minutes=10)}),
        # no machine is known to serve these; the second overtakes the first
        "first": ([(30, 40)], [], {"pool": "r"}),
        "second": ([(20, 30)], [], {"pool": "r", "submitted_at": begin + timedelta(minutes=10)}),
        # "tied" waits as long for its quota as for a server with two free GPUs
        "before": ([(0, 10)], [], {"vc": "v9", "pool": "s", "gpus": 2}),
        "beside": ([(0, 20)], [("s0", 0)], {"vc": "v2", "pool": "s"}),
        # as large as its quota, and waits before its virtual cluster has used any
        "sole": ([(10, 20)], [], {"vc": "v8", "pool": "s"}),
        "tied": ([(20, 30)], [], {"vc": "v9", "pool": "s", "gpus": 2}),
        "alone": ([(0, 60)], [("s2", 0)], {"pool": None, "gpu_model": "k80"}),
    } | {f"hopeless {i}": ([(0, 30), (40, 50)], [], killed) for i in range(5)}
    # nobody else submits in this hour
    asked = {"pool": "d", "submitted_at": begin + timedelta(hours=2)}
    cases |= {f"asked {i}": ([], [], asked) for i in range(16)}
    # submissions and starts at the same moments, in and out of order
    for i, (waits_from, start) in enumerate(((0, 20), (5, 50), (5, 30), (10, 20), (30, 50))):
        others = {"pool": "t", "submitted_at": begin + timedelta(minutes=waits_from)}
        cases[f"queued {i}"] = ([(start, 90)], [], others)
    # start soon after they arrive at an idle server
    for i in range(14):
        asked = {"pool": "b", "vc": None, "submitted_at": begin + timedelta(minutes=100 * i)}
        cases[f"brief {i}"] = ([(100 * i + i % 3 + 1, 100 * i + 50)], [("b0", 0)], asked)
    for job, (attempts, held, others) in cases.items():
        hopeless = others == killed
        rows["jobs"].append(
            {"job_id": job, "vc": "v0", "user": "u0", "gpus": max(len(held), 1), "status": "Pass",
             "submitted_at": begin, "time_limit_s": 3600.0, "pool": "q", **others}
        )  # fmt: skip
        for n, times in enumerate(attempts, 1):
            since, until = (None if m is None else begin + timedelta(minutes=m) for m in times)
            key = {"job_id": job, "attempt": n}
            rows["attempts"].append(
                {**key, "started_at": since, "ended_at": until,
                 "run_s": 60.0 if since is until is None else None,
                 "gpus": 0 if since and not until else None}
            )  # fmt: skip
            rows["placements"] += [key | {"machine_id": m, "gpu": g} for m, g in held]
            if hopeless and n == 1:
                rows["failures"].append(key | {"reason": "Five retries"})
        if job == "week":
            rows["failures"].append(key | {"reason": "Once"})
    rows["machines"] += [
        {"machine_id": m, "gpus": 2, "gpus_listed": 2, "gpu_model": "v100", "pool": "q"}
        for m in ("q0", "q1")
    ] + [
        {"machine_id": m, "gpus": gpus, "gpu_model": model, "pool": pool}
        for m, gpus, model, pool in (
            ("s0", 2, "a100", "s"),
            ("s1", 1, "k80", "s"),
            ("s2", 1, "k80", "u"),
            ("b0", 2, "t4", "b"),
        )
    ]
    rows["gpu_samples"] += [
        {"sampled_at": begin + timedelta(hours=h), "machine_id": m, "seconds": 3600.0,
         "util_pct": [25.0] if m == "s2" else [25.0, 50.0]}
        for h in range(2) for m in ("q0", "q1", "s2")
    ]  # fmt: skip


def rich_tables(seed: int, *, estimated: bool = False) -> dict[str, pl.DataFrame]:
    """Return tables whose rows overlap, tie, end at once, lack times, and are flagged.

    Parameters
    ----------
    estimated
        Whether no quotas are given.
    """
    rng = np.random.default_rng(seed)

    def one(*values: Any) -> Any:
        return values[rng.integers(len(values))]

    def minutes(n: float) -> timedelta:
        return timedelta(minutes=float(n))

    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
    rows["machines"] = [
        {
            "machine_id": machine,
            "gpus": gpus,
            "gpus_listed": one(gpus, gpus, gpus + 1),
            "gpu_model": "v100" if gpus > 4 else "a100",
            "pool": {"m0": "p/a", "w4": "p/a", "u0": "x"}.get(machine, "p/b"),
            "cluster": "c1" if machine in ("m0", "m1", "m2") else "c0",
        }
        for machine, gpus in _CAPS.items()
    ]
    places = [(m, g) for m, n in _CAPS.items() for g in range(n) if m[0] == "m"]
    for i in range(220):
        status = one(None, *STATUSES)
        hours = 4 * int(rng.integers(DAYS * 6)) + one(0, 0, 0.5, 1)
        job, submitted = f"j{i}", START + minutes(60 * hours)
        gpus = one(None, 0, 1, 1, 1, 2, 4, 5, 8, 8, 12, 16, 20, 24)
        rows["jobs"].append(
            {
                "job_id": job,
                "vc": one(None, "v0", "v0", "v1", "v2"),
                "user": one(None, *(f"u{u}" for u in range(5))),
                "account": one(None, "a0", "a1"),
                "gpus": gpus,
                "submitted_at": submitted,
                "eligible_at": one(None, None, submitted, submitted + minutes(one(20, 300))),
                "status": status,
                "time_limit_s": one(None, 60.0, 3600.0, 36_000.0),
                "gpu_frac": one(None, 1.0, 0.5),
                "cluster": None if i % 5 else "c1",
                "pool": (pool := one(*6 * ["p"], "p/a")),
                "gpu_model": None if pool == "p/a" else one(*8 * [None], "v100", "h100"),
                "flag": "left_truncated"
                if submitted < START + minutes(600)
                else one(*8 * [None], "odd"),
            }
        )
        now = submitted
        for attempt in range(1, rng.integers(0, 5)):
            started = min(now + minutes(one(0, 0, 10, 30, 600, 5000)), END)
            ended = (
                started
                + minutes(one(0, 1, 5, 10, 60, 61, 600, 1440, 10_081))
                + timedelta(seconds=one(0, 0, 0, 30))
            )
            ended = min(one(*9 * [ended], END), END)
            key = {"job_id": job, "attempt": attempt}
            rows["attempts"].append(
                {
                    **key,
                    "started_at": one(*7 * [started], None),
                    "ended_at": one(*7 * [ended], None),
                    "run_s": one(None, None, None, 0.0, 59.0, 300.0, 303.0, 900_000.0),
                    "gpus": one(None, gpus, gpus, 0),
                    "end_reason": one(None, None, None, *END_REASONS),
                    "exit_code": one(None, 0, 1, 137),
                    "eligible_at": one(None, None, started, started - minutes(5)),
                    "wait_reason": one(*_WAITS),
                    "guest": one(None, False, True),
                    "work_s": one(None, 10.0),
                    "flag": one(*8 * [None], "odd", "fake_start"),
                }
            )
            held = [places[k] for k in rng.choice(len(places), gpus or 1, replace=False)]
            if gpus in (4, 8) and one(True, False):
                held = [(f"w{gpus}", g) for g in range(gpus)]
            named, boxes = one(False, True, True), one((None,), (None, 0, 1))
            for machine in dict.fromkeys(m for m, _ in held):
                its = [g for m, g in held if m == machine]
                where = key | {"machine_id": machine}
                if named:
                    rows["placements"] += [
                        where | {"gpu": g, "container": one(*boxes)} for g in its
                    ]
                elif i % 7:
                    rows["placements"].append(where | {"gpus": one(None, len(its))})
            if one(True, False):
                reason = (
                    "Never helped" if status in ("Killed", "Failed") and gpus else one(*_REASONS)
                )
                told = {"reason": reason, "tier": one(None, "AE", "IF"), "fine": one(*_FINE)}
                rows["failures"].append(key | told)
            rows["summaries"] += [
                {
                    **key,
                    "worker": f"w{w}",
                    "gpus": one(None, 1, 2),
                    "util_pct": (util := one(None, 0.0, 25.0, 60.0, 100.0)),
                    "gpu_mem_used_gb": one(None, 4.0, 20.0),
                    "gpu_mem_gb": 16.0,
                    "seconds": one(None, 100.0, 9000.0),
                }
                for w in range(rng.integers(3))
            ]
            now = ended - minutes(one(0, 0, 0, 0, 50))
    add_corner_cases(rows)
    # whole hours, but minutes around the hour that clocks repeat
    hours = [START + minutes(60 * h) for h in range(24 * (DAYS + 1))]
    fine = START + minutes((6 * 24 + 7) * 60)
    moments = [h for h in hours if not 0 <= (h - fine) / minutes(60) < 4]
    moments += [fine + minutes(m) for m in range(240)]
    for machine, gpus in _CAPS.items():
        for at in moments:
            if machine in ("m5", "c0") or one(True, False, False):
                continue
            seconds = (
                one(None, 60.0)
                if fine <= at < fine + minutes(240)
                else one(None, 431.7, 900.0, 3600.0)
            )
            key = {"sampled_at": at, "machine_id": machine, "seconds": seconds}
            util = [
                one(None, 0.0, 0.0, 7.5, 25.0, 100.0) for _ in range(max(gpus - one(0, 0, 1), 0))
            ]
            rows["gpu_samples"].append(key | {"util_pct": util})
            used = {"cpu_pct": one(None, 0.0, 40.5), "mem_used_gb": one(None, 8.0), "mem_gb": 64.0}
            rows["host_samples"].append(key | used)
    rows["virtual_clusters"] = (
        []
        if estimated
        else [{"vc": vc, "gpus": gpus} for vc, gpus in (("v0", 9), ("v1", 4), ("v8", 1), ("v9", 2))]
    )
    rows["known_causes"] = [
        {key: a[key] for key in ("job_id", "attempt")}
        | {f"{c}_s": one(0.0, 5.0, 60.0) for c in ("start_up", "fair_share", "fragmentation")}
        | {"other_s": one(0.0, 30.0)}
        for a in rows["attempts"]
    ]
    tables = {}
    for name, some in rows.items():
        schema = pl.DataFrame(TABLES[name].arrow.empty_table()).schema
        if some:
            tables[name] = pl.DataFrame(some, schema=schema)
    return tables
