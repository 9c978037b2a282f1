"""The policies: each says who should hold what now, and nothing else."""

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import pandas as pd

from philly_analysis.errors import SimulationError, UnknownNameError
from philly_analysis.simulator.policies.amoeba import Amoeba
from philly_analysis.simulator.policies.antman import AntMan
from philly_analysis.simulator.policies.philly import Philly
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.ranked import Fifo, Las, Srtf
from philly_analysis.simulator.policies.recorded import Recorded
from philly_analysis.simulator.policies.synergy import Synergy
from philly_analysis.simulator.policies.themis import Themis

__all__ = ["POLICIES", "Policy", "policies", "policy_named"]

POLICIES: dict[str, type[Policy]] = {
    p.name: p for p in (Fifo, Srtf, Las, Philly, Synergy, Amoeba, AntMan, Themis, Recorded)
}
"""Every policy by the name that the user types."""


def policies(name: str | None = None) -> pd.DataFrame:
    """List the scheduling policies; or the knobs of one.

    Returns
    -------
    pandas.DataFrame
        One row per policy: policy, what, source; or one row per knob: knob, default, meaning.

    Raises
    ------
    UnknownNameError
        There is no such policy.
    """
    if name is None:
        return pd.DataFrame(
            [(p.name, (p.__doc__ or "").split("\n")[0], p.SOURCE) for p in POLICIES.values()],
            columns=["policy", "what", "source"],
        )
    return pd.DataFrame(
        [(f.name, _as_set(f.default), f.metadata["meaning"]) for f in fields(_class_of(name))],
        columns=["knob", "default", "meaning"],
    )


def policy_named(name: str, knobs: Mapping[str, Any]) -> Policy:
    """Return a policy with some of its knobs set.

    Parameters
    ----------
    knobs
        Values by knob; text, as a command line gives it, is read as JSON where the knob is not
        a text (``true``, ``0.5``, ``[3600, 7200]``).

    Raises
    ------
    UnknownNameError
        There is no such policy, or it has no such knob.
    SimulationError
        A value is not of the knob's kind.
    """
    policy = _class_of(name)
    known = {f.name: f for f in fields(policy)}
    for knob in knobs:
        if knob not in known:
            raise UnknownNameError(f"knob of {name}", knob, known)
    return policy(**{k: _value(name, k, v, known[k].default) for k, v in knobs.items()})


def _class_of(name: str) -> type[Policy]:
    if name not in POLICIES:
        raise UnknownNameError("policy", name, POLICIES)
    return POLICIES[name]


def _as_set(default: Any) -> str:
    """Write a knob's value as one would set it; :func:`policy_named` reads it back."""
    return default if isinstance(default, str) else json.dumps(default)


def _value(policy: str, knob: str, value: Any, default: Any) -> Any:
    kind = type(default)
    if isinstance(value, str) and kind is not str:
        try:
            value = json.loads(value)
        except json.JSONDecodeError:
            value = value.lower() == "true" if value.lower() in ("true", "false") else value
    if kind is tuple and isinstance(value, (list, tuple, int, float)):
        return tuple(value) if isinstance(value, (list, tuple)) else (value,)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not kind:
        raise SimulationError(
            f"knob {knob} of {policy} was set to {value!r}; it takes a {kind.__name__}, "
            f"e.g. {default!r}."
        )
    return value
