"""Scheduling policies, by name: each decides which job holds which GPUs."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import pandas as pd

from philly_analysis.errors import UnknownNameError
from philly_analysis.simulator.policies.amoeba import Amoeba
from philly_analysis.simulator.policies.antman import AntMan
from philly_analysis.simulator.policies.conservative import Conservative
from philly_analysis.simulator.policies.easy import Easy
from philly_analysis.simulator.policies.gandiva import Gandiva
from philly_analysis.simulator.policies.gittins import Gittins
from philly_analysis.simulator.policies.knobs import allowed, read, written
from philly_analysis.simulator.policies.maxmin import MaxMin
from philly_analysis.simulator.policies.multi_resource import Drf, Tetris
from philly_analysis.simulator.policies.philly import Philly
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.priority import Fifo, Sjf, Srsf, Srtf
from philly_analysis.simulator.policies.qssf import Qssf
from philly_analysis.simulator.policies.recorded import Recorded
from philly_analysis.simulator.policies.synergy import Synergy
from philly_analysis.simulator.policies.themis import Themis
from philly_analysis.simulator.policies.tiresias import Las, Tiresias
from philly_analysis.simulator.policies.user_policy import load

POLICIES: dict[str, type[Policy]] = {
    p.name: p
    for p in (
        *(Fifo, Easy, Conservative, Sjf, Qssf, Srtf, Srsf, Las, Tiresias, Gittins),
        *(Philly, MaxMin, Themis, Drf, Tetris, Synergy, Amoeba, Gandiva, AntMan, Recorded),
    )
}
"""Every policy by the name that the user types."""


def list_policies(name: str | None = None) -> pd.DataFrame:
    """List the scheduling policies; or the knobs of one.

    Returns
    -------
    pandas.DataFrame
        One row per policy: policy, what, source; or one row per knob: knob, default, unit,
        allowed, meaning.

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
        [
            (
                f.name,
                written(f.default),
                f.metadata.get("unit", ""),
                allowed(f),
                f.metadata.get("meaning", ""),
            )
            for f in fields(_class_of(name))
        ],
        columns=["knob", "default", "unit", "allowed", "meaning"],
    )


def policy_named(name: str, knobs: Mapping[str, Any]) -> Policy:
    """Return a policy with some of its knobs set.

    Parameters
    ----------
    name
        A key of :data:`POLICIES`, or a policy of the user's own, as ``file.py:Class`` (see
        :mod:`philly_analysis.simulator.policies.user_policy`).
    knobs
        Values by knob; text, as a command line gives it, is read as JSON where the knob is not
        a text (``true``, ``0.5``, ``[3600, 7200]``).

    Raises
    ------
    UnknownNameError
        There is no such policy, or it has no such knob.
    SimulationError
        A value is not of the knob's kind, or outside its bounds.
    """
    policy = _class_of(name)
    return policy(**read(policy, knobs, name))


def _class_of(name: str) -> type[Policy]:
    if ".py:" in name:
        return load(name)
    if name not in POLICIES:
        raise UnknownNameError("policy", name, POLICIES)
    return POLICIES[name]
