"""List what to type in Slurm: the settings of each lever, and how to raise limits."""

import tomllib
from collections.abc import Hashable
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import Any

import pandas as pd

from philly_analysis.experiments.advice.advice import Advice
from philly_analysis.experiments.advice.lever import Assumptions
from philly_analysis.experiments.advice.levers import PATIENCE
from philly_analysis.experiments.advice.pricing import Priced
from philly_analysis.experiments.advice.scenario import Scenario
from philly_analysis.experiments.job_sources import quotas_by_use
from philly_analysis.results import NOT_KNOWN, whole_percent
from philly_analysis.simulator.policies import Philly, Policy

DOCS = "https://slurm.schedmd.com/"
"""Slurm's documentation, which the links of settings are relative to."""

_LONGEST_WINDOW_MIN = 43_200
"""Greatest bf_window that Slurm accepts."""

_SETTINGS = tomllib.loads(Path(__file__).with_name("slurm.toml").read_text("utf-8"))

RAISED = 1.5
"""Factor by which a limit is raised as a first step (convention)."""


def settings(advice: Advice, priced: Priced, assumed: Assumptions) -> pd.DataFrame:
    """Return what to type in Slurm for a lever: where, type, page of documentation, link."""
    now = advice.scenario
    gpus, *others = [machine.gpus for machine in now.server_types()]
    longest_s = max(spec.time_limit_s or spec.run_s for spec in now.jobs)
    wait_s = _wait_for_few_s(now.policy)
    filled = {
        **{name: f"{value:g}" for name, value in asdict(assumed).items() if name != "value"},
        "shards": 2 * gpus,
        "gpus": gpus,
        "other_gpus": others[0] if others else gpus,
        "idle_min": f"{60 * assumed.idle_h:g}",
        "wait_for_few_s": f"{wait_s:.0f}",
        "wait_for_few": f"{wait_s // 3600:02.0f}:{wait_s % 3600 // 60:02.0f}:00",
        "worst": quote(",".join(advice.worst_servers) or "NAME"),
        "raise": "\n".join(map(_raised, advice.limits.to_dict("records"))) or NOT_KNOWN,
        "cpus_per_gpu": _cpus_per_gpu(now),
        "window_min": min(-(-int(longest_s) // 60), _LONGEST_WINDOW_MIN),
    }
    rows = []
    for row in _SETTINGS[priced.name]:
        of_vc = quotas_by_use(now.jobs, now.gpus) if "{vc}" in row["type"] else {"": 0}
        for vc, quota in sorted(of_vc.items()):
            text = row["type"].format_map({**filled, "vc": quote(vc), "quota": quota})
            page = row["page"].format_map({**filled, "quota": quota})
            rows.append((row["where"], text.strip(), page, DOCS + row["link"]))
    return pd.DataFrame(rows, columns=["where", "type", "documentation", "link"])


def _wait_for_few_s(policy: Policy) -> float:
    """Return how long gangs ask for few servers with the lever's patience; 0: never."""
    if not isinstance(policy, Philly):
        return 0.0
    return PATIENCE * policy.asks * len(policy.relax) * (policy.hold_s + policy.backoff_s)


def _cpus_per_gpu(scenario: Scenario) -> str:
    """Return the fewest CPUs for each GPU that a server has; NOT_KNOWN: no server's are known."""
    shares = [m.cpus / m.gpus for m in scenario.server_types() if m.cpus and m.gpus]
    return f"{int(min(shares))}" if shares else NOT_KNOWN


def binding_limits(limits: pd.DataFrame) -> pd.DataFrame:
    """Return the limits that bind, as rows of text: limit, waiting, jobs, what to type in Slurm."""
    rows = [
        (
            row["name"],
            f"{row['wait_h']:,.0f}",
            whole_percent(row["share"]),
            row["jobs"],
            _raised(row),
        )
        for row in limits.to_dict("records")
    ]
    heads = ["limit", "GPU hours of waiting a month", "of the waiting", "jobs", "to raise it"]
    return pd.DataFrame(rows, columns=heads)


def limits_sentences(limits: pd.DataFrame, pools: int) -> tuple[str, ...]:
    """Return which limits keep jobs waiting, what to change, and whether replays have limits.

    Parameters
    ----------
    pools
        Pools of servers that are replayed.
    """
    share = whole_percent(float(limits["share"].sum()))
    name = limits["name"].iloc[0]
    return (
        f"A limit causes {share} of the waiting, most of it "
        f"{name if isinstance(name, str) else 'a limit without a name'}.",
        "Raise the limit: the table has the command.",
        *([_SEVERAL_POOLS] if pools > 1 else []),
    )


_SEVERAL_POOLS = (
    "No replay has the limits: the servers are in several pools, which are replayed one by one, "
    "and a limit counts the jobs of all pools."
)

_TRES = {"gpus": "gres/gpu", "cpus": "cpu", "mem_gb": "mem", "servers": "node"}
"""Slurm's names of resources."""


def _raised(limit: dict[Hashable, Any]) -> str:
    """Return the command that raises a limit, or shows an amount that the log does not have."""
    scope, tres = limit["scope"], _TRES.get(limit["resource"])
    if scope not in ("account", "qos") or tres is None:
        return NOT_KNOWN
    if pd.isna(limit["amount"]):
        return f"sacctmgr show {'qos' if scope == 'qos' else 'assoc'} format={scope},GrpTRES"
    amount = f"{RAISED * limit['amount']:g}{'G' if tres == 'mem' else ''}"
    return f"sacctmgr modify {scope} name={quote(limit['owner'])} set GrpTRES={tres}={amount}"
