"""Compare samples of one history in every format and at every rate with a reference."""

from pathlib import Path

import pytest

from tests.ingest.telemetry.history import FORMATS, GPUS, MIB, expected, history
from tests.ingest.telemetry.made import made

MACHINES = [{"machine_id": name, "gpus": gpus} for name, gpus in GPUS.items()]


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        pytest.param(name, s, marks=() if s == 15 and " no" not in name else pytest.mark.slow)
        for name in FORMATS
        for s in (7.5, 15, 30, 60, 300)
    ],
)
def test_every_format_tells_the_same(name: str, seconds: float, tmp_path: Path) -> None:
    readings = history(seconds)
    ingested = made(tmp_path, FORMATS[name](readings), "Europe/Berlin", machines=MACHINES)
    lasts = {key: (u, pytest.approx(s)) for key, (u, s) in expected(readings, seconds).items()}
    assert ingested.samples() == lasts
    assert ingested.rows("select machine_id, gpus from machines order by all") == [*GPUS.items()]
    # memory and power stand beside the utilisation of the same GPU
    told = {(r.at, r.machine, r.gpu): r for r in readings}
    for (moment, machine), (util, _, mem, power) in ingested.samples(
        "mem_used_gb", "power_w"
    ).items():
        for gpu, u in enumerate(util):
            # a range answer has no entry for a GPU that did not answer: no sample of it at all
            if u is not None or mem[gpu] is not None:
                r = told[moment, machine, gpu]
                assert mem[gpu] == pytest.approx(r.mem_mib * MIB)
                assert power[gpu] == pytest.approx(r.power)
    account = ingested.account
    assert account.read == account.kept + sum(account.rejected.values())
    reasons = {"no utilisation of the GPU was read then"} if name == "range answers" else set()
    assert set(account.rejected) == reasons
