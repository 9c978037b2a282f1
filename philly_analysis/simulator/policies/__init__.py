"""Scheduling policies by name: each decides which job holds which GPUs."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import pandas as pd

from philly_analysis.errors import SimulationError, UnknownNameError
from philly_analysis.simulator.policies.amoeba import Amoeba
from philly_analysis.simulator.policies.antman import AntMan
from philly_analysis.simulator.policies.conservative import Conservative
from philly_analysis.simulator.policies.drf import Drf
from philly_analysis.simulator.policies.easy import Easy
from philly_analysis.simulator.policies.gandiva import Gandiva
from philly_analysis.simulator.policies.gittins import Gittins
from philly_analysis.simulator.policies.knobs import (
    LONG_S,
    Bounds,
    allowed,
    format_value,
    knob,
    parse,
    unit,
)
from philly_analysis.simulator.policies.limit import Limit, recorded_limits
from philly_analysis.simulator.policies.maxmin import MaxMin
from philly_analysis.simulator.policies.philly import Philly
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.priority import Fifo, Sjf, Srsf, Srtf
from philly_analysis.simulator.policies.qssf import Qssf
from philly_analysis.simulator.policies.recorded import Recorded
from philly_analysis.simulator.policies.slurm import Slurm
from philly_analysis.simulator.policies.synergy import Synergy
from philly_analysis.simulator.policies.tetris import Tetris
from philly_analysis.simulator.policies.themis import Themis
from philly_analysis.simulator.policies.tiresias import Las, Tiresias
from philly_analysis.simulator.policies.user_policy import load
from philly_analysis.simulator.policies.view import Decision, View

POLICIES: dict[str, type[Policy]] = {
    p.name: p
    for p in (
        *(Fifo, Easy, Conservative, Slurm, Sjf, Qssf, Srtf, Srsf, Las, Tiresias, Gittins),
        *(Philly, MaxMin, Themis, Drf, Tetris, Synergy, Amoeba, Gandiva, AntMan, Recorded),
    )
}
"""Every policy by its name on the command line."""


def list_policies(name: str | None = None) -> pd.DataFrame:
    """List the scheduling policies, or the knobs of one.

    Returns
    -------
    pandas.DataFrame
        One row per policy: policy, what, source; or one row per knob: knob, default, unit,
        allowed, meaning.

    Raises
    ------
    UnknownNameError
        The policy is unknown.
    """
    if name is None:
        return pd.DataFrame(
            [(p.name, (p.__doc__ or "").split("\n")[0], p.SOURCE) for p in POLICIES.values()],
            columns=["policy", "what", "source"],
        )
    return pd.DataFrame(
        [
            {
                "knob": f.name,
                "default": format_value(f.default),
                "unit": unit(f.name),
                "allowed": allowed(f),
                "meaning": f.metadata.get("meaning", ""),
            }
            for f in fields(_class_of(name))
        ]
    )


def policy_named(policy: str | Policy, knobs: Mapping[str, Any]) -> Policy:
    """Return a policy with some knobs set.

    Parameters
    ----------
    policy
        A key of :data:`POLICIES`, a user's policy as ``file.py:Class`` (see
        :mod:`philly_analysis.simulator.policies.user_policy`), or a policy.
    knobs
        Values by knob. Text, as on a command line, is parsed as JSON unless the knob is a word
        (``true``, ``0.5``, ``[3600, 7200]``).

    Raises
    ------
    UnknownNameError
        The policy is unknown, or has no knob of a name in `knobs`.
    SimulationError
        A value has the wrong type, or is outside the knob's bounds.
    """
    if isinstance(policy, Policy):
        return replace(policy, **parse(policy, knobs, policy.name))
    kind = _class_of(policy)
    return kind(**parse(kind, knobs, policy))


def require_policy(policy: object) -> None:
    """Raise a SimulationError unless an object is a policy or its name."""
    if isinstance(policy, str | Policy):
        return
    if isinstance(policy, type) and issubclass(policy, Policy):
        name = policy.__name__
        raise SimulationError(f"{name} is a class: give a policy of this class, {name}().")
    raise SimulationError(
        f"a policy is a name or a Policy, not a {type(policy).__name__}; "
        "sweep(work, policies) runs several."
    )


def _class_of(name: str) -> type[Policy]:
    if ".py:" in name:
        return load(name)
    if name not in POLICIES:
        raise UnknownNameError("policy", name, POLICIES)
    return POLICIES[name]
