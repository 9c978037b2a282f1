"""Check knobs: values outside the bounds are refused, and simulations inside them end."""

from dataclasses import Field, fields
from math import inf, nan
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from philly_analysis.errors import PhillyError
from philly_analysis.simulator import POLICIES, policy_named
from tests.simulator.drawn import ended_in_time
from tests.simulator.test_properties import Rows, simulated, workloads
from tests.simulator.test_reference import examples
from tests.support.slow import quick_first


def within(knob: "Field[Any]") -> st.SearchStrategy[Any]:
    """Values of a knob by its own word, the ends of its bounds often among them."""
    if isinstance(knob.default, bool):
        return st.booleans()
    if knob.metadata["among"]:
        return st.sampled_from(knob.metadata["among"])
    if isinstance(knob.default, str):
        return st.just(knob.default)
    low, high, or_else = knob.metadata["within"]
    if isinstance(knob.default, int):
        return st.integers(int(low), int(high))
    number = st.floats(low, high) | st.sampled_from([low, high, *or_else])
    if low < 100 < high:  # where things happen
        number |= st.floats(low, 100)
    if isinstance(knob.default, tuple):
        several = st.lists(number, max_size=4, unique=True)
        return several.map(lambda some: tuple(sorted(some)))
    return number


def outside(knob: "Field[Any]") -> st.SearchStrategy[Any]:
    """Values that a knob cannot take."""
    wrong: st.SearchStrategy[Any] = st.none() | st.sampled_from(["", "none of them", nan, -inf])
    if isinstance(knob.default, (bool, str)):
        return wrong
    low, high, or_else = knob.metadata["within"]
    numbers = st.floats(max_value=low, exclude_max=True) | st.floats(high, exclude_min=True)
    if isinstance(knob.default, int):
        numbers = st.integers(max_value=int(low) - 1) | st.integers(min_value=int(high) + 1)
    numbers = numbers.filter(lambda value: value not in or_else)
    if isinstance(knob.default, tuple):
        return wrong | st.tuples(numbers) | st.just((high, low))
    return wrong | numbers


def knobs_of(name: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={f.name: within(f) for f in fields(POLICIES[name])})


@examples(8, many=400)
@pytest.mark.parametrize("name", POLICIES)
def test_knobs_within_bounds_neither_hang_nor_trace_back(name: str, examples: int) -> None:
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(knobs_of(name), workloads)
    def check(knobs: dict[str, Any], rows: Rows) -> None:
        try:
            policy = policy_named(name, knobs)
        except PhillyError as error:
            if "may be at most" in str(error):  # two knobs that contradict each other
                reject()
            raise
        _, schedule = simulated(rows, policy)
        assert ended_in_time(schedule)

    check()


@pytest.mark.parametrize("name", quick_first(POLICIES, 3))
@given(st.data())
def test_what_is_outside_of_its_bounds_is_refused(name: str, data: st.DataObject) -> None:
    knobs = [f for f in fields(POLICIES[name]) if f.name != "settings"]  # any folder
    knob = data.draw(st.sampled_from(knobs))
    with pytest.raises(PhillyError, match=f"{knob.name} of {name}"):
        policy_named(name, {knob.name: data.draw(outside(knob))})


@pytest.mark.parametrize("name", quick_first(POLICIES, 3))
@given(st.data())
def test_anything_set_is_taken_or_refused(name: str, data: st.DataObject) -> None:
    anything = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.tuples(inner),
        max_leaves=4,
    )
    known = st.sampled_from([f.name for f in fields(POLICIES[name])]) | st.text(max_size=5)
    knobs = data.draw(st.dictionaries(known, anything, max_size=3))
    said = name
    try:
        policy_named(name, knobs)
    except PhillyError as error:
        said = str(error)
    assert name in said


@pytest.mark.parametrize(
    ("name", "knob", "value", "why"),
    [
        ("philly", "backoff_s", 0, "may be 10 to 1e"),
        ("philly", "hold_s", -5, "may be 10 to 1e"),
        ("slurm", "cred_expire", "inf", "may be 0 to 86400"),  # a requeued job would never start
        ("philly", "relax", "[2, 1]", "must increase from each"),
        ("philly", "preempt_above_frac", "90", "may be 0 to 1"),
        ("themis", "lease_s", 0, "may be 10 to 1e"),
        ("themis", "restart_s", 600, "at most half of lease_s"),
        ("philly", "round_s", 600, "at most hold_s"),
        ("fifo", "round_s", 1e-300, "may be 0 or 10 to 1e"),
        ("fifo", "restart_s", nan, "may be 0 to 86400"),
        ("srtf", "restart_s", inf, "may be 0 to 86400"),
        ("las", "thresholds_gpu_s", "[0]", "may be each 1 to"),
        ("amoeba", "pending_above", "1.5", "must be a whole number"),
        ("amoeba", "order", "lifo", "no order of amoeba named 'lifo'"),
    ],
)
def test_a_knob_outside_its_bounds_is_refused_with_its_bounds(
    name: str, knob: str, value: object, why: str
) -> None:
    with pytest.raises(PhillyError, match=why):
        policy_named(name, {knob: value})


@pytest.mark.parametrize("name", POLICIES)
def test_every_default_is_within_its_own_bounds(name: str) -> None:
    for knob in fields(POLICIES[name]):
        meta = knob.metadata
        assert meta["meaning"]
        if isinstance(knob.default, (int, float, tuple)) and not isinstance(knob.default, bool):
            assert meta["within"], f"{knob.name} of {name} has no bounds"
