"""Read what nvidia-smi printed beside a known load, and compare it with another library's readings.

One H200 (driver 580.159), 2026-11-27: idle, matrix products without a pause, half a second of them
in each second, then idle with 20 GiB in use. ``load.txt`` has the start of each phase, ``nvml.csv``
what NVML returned five times a second.
"""

from datetime import UTC
from pathlib import Path

import pandas as pd
import pytest

from tests.ingest.telemetry.history import MIB
from tests.ingest.telemetry.made import made
from tests.support.slow import quick_first

RECORDED = Path(__file__).with_name("recorded")
STARTS = [float(line.split()[0]) for line in (RECORDED / "load.txt").read_text().splitlines()]
NVML = pd.read_csv(RECORDED / "nvml.csv").assign(
    mem_gb=lambda t: t["mem_used_bytes"] / 1e9, power_w=lambda t: t["power_mw"] / 1e3
)
RESERVED_GB = NVML["mem_gb"][NVML["at"] < STARTS[1]].median()
"""Memory that NVML counts as used, and nvidia-smi does not."""
MARGIN_S = 2
"""Seconds around a change that readings may show the state before, or the next one begin."""

FILES = {
    "gpu01_smi_1s.csv": 75,
    "gpu01_noheader_2s.csv": 38,
    "gpu01_nounits_500ms.csv": 150,
    "gpu01_many_1s.csv": 75,
    "gpu01_few_1s.csv": 75,
}
"""Readings in each file: with and without header and units, more fields, few fields."""


@pytest.mark.parametrize("name", quick_first(FILES, 2))
def test_readings_of_a_known_load(name: str, tmp_path: Path) -> None:
    text = (RECORDED / name).read_text("utf-8")
    ingested = made(tmp_path, {name: text}, machines=[{"machine_id": "gpu01", "gpus": 1}])
    assert len(ingested.samples()) == ingested.account.read == ingested.account.kept == FILES[name]
    readings = [
        (moment.replace(tzinfo=UTC).timestamp(), util[0], mem and mem[0], power and power[0])
        for (moment, _), (util, _, mem, power) in ingested.samples("mem_used_gb", "power_w").items()
    ]
    table = pd.DataFrame(readings, columns=["at", "util", "mem_gb", "power_w"])
    for first, last in ((0, 1), (1, 2), (3, 4)):  # not the half second, which lies between readings
        ours, theirs = (
            t[t["at"].between(STARTS[first] + MARGIN_S, STARTS[last] - MARGIN_S)].mean()
            for t in (table, NVML)
        )
        assert ours["util"] == pytest.approx(theirs["util"], abs=1)
        if "few" not in name:
            used_gb = theirs["mem_gb"] - RESERVED_GB
            assert ours["mem_gb"] == pytest.approx(used_gb, abs=2 * MIB)
            assert ours["power_w"] == pytest.approx(theirs["power_w"], rel=0.02)
    assert table["util"].between(0, 100).all()
