"""Reads the archive's utilisation files: what each line says of a machine's GPUs, or of itself."""

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from philly_analysis.ingest.source import NEVER, Read, Readings, Stream

_GPUS = 8
_FILLED = np.array([value.bit_length() for value in range(1 << _GPUS)])
"""By the bits of what a row holds a value for: the place of its last value, from 1."""

_Values = npt.NDArray[np.float64]
_Flags = npt.NDArray[np.bool_]


def _gpus(con: duckdb.DuckDBPyConnection) -> Read:
    """Read cluster_gpu_util: as many values as the machine has GPUs, each of them once."""
    layouts = {
        machine: (gpus, doubled)
        for machine, gpus, doubled in con.sql("from gpu_layout").fetchall()
        if gpus is not None
    }

    def read(lines: pa.Table) -> Readings:
        machine = lines["machine_id"].chunk(0)
        layout = [layouts.get(name, (0, False)) for name in machine.dictionary.to_pylist()]
        gpus, doubled = np.array(layout, np.int64).T[:, machine.indices.to_numpy()]
        columns = [lines[name].chunk(0) for name in lines.column_names if name[:1] == "v"]
        if len(columns) > _GPUS:  # each GPU twice
            columns, gpus, doubled = columns[::2], np.full_like(gpus, _GPUS), doubled * 0
        values = np.stack([_numbers(column) for column in columns], axis=1)
        known = np.stack([_known(column) for column in columns], axis=1)
        if (twice := np.flatnonzero(doubled)).size:
            for matrix in (values, known):
                matrix[twice, : _GPUS // 2] = matrix[twice, ::2]
            known[twice, _GPUS // 2 :] = False
        # more values than the machine is known to have GPUs tell of more
        filled = _FILLED[np.packbits(known, axis=1, bitorder="little")[:, 0]]
        gpus = np.clip(gpus, np.maximum(filled, 1), np.where(doubled, _GPUS // 2, _GPUS))
        held = np.arange(_GPUS) < gpus[:, None]
        util = values[held]
        sound = np.ones(len(values), bool)
        if not _between(util, 100).all():
            sound = (_between(values, 100) | ~held).all(axis=1)
        ends = pa.array(np.append(0, np.cumsum(gpus)).astype(np.int32))
        lists = pa.ListArray.from_arrays(ends, pa.array(util, mask=~known[held]))
        return Readings(_times(con, lines), {"util_pct": lists}, sound)

    return read


def _cpu(con: duckdb.DuckDBPyConnection) -> Read:
    """Read cluster_cpu_util."""

    def read(lines: pa.Table) -> Readings:
        cpu = lines["cpu_util"].chunk(0)
        return Readings(_times(con, lines), {"cpu_pct": cpu}, _between(_numbers(cpu), 100))

    return read


def _memory(con: duckdb.DuckDBPyConnection) -> Read:
    """Read cluster_mem_util, which counts in kB."""

    def read(lines: pa.Table) -> Readings:
        total, free = (lines[name].chunk(0) for name in ("mem_total", "mem_free"))
        used, held = (pc.divide(kb, 1048576.0) for kb in (pc.subtract(total, free), total))
        sound = (_numbers(held) > 0) & _between(_numbers(used), _numbers(held))
        return Readings(_times(con, lines), {"mem_used_gb": used, "mem_gb": held}, sound)

    return read


def _times(con: duckdb.DuckDBPyConnection, lines: pa.Table) -> npt.NDArray[np.int64]:
    """Return the moment of each line; a text is read once, however many lines share it."""
    time = lines["time"].chunk(0)
    [moments] = (
        con.cursor()
        .execute(
            "select coalesce(epoch_us(utc(text)), $never) as moment "
            "from (select unnest($texts::varchar[]) as text)",
            {"texts": time.dictionary.to_pylist(), "never": NEVER},
        )
        .fetchnumpy()
        .values()
    )
    return np.asarray(moments)[time.indices.to_numpy()]


def _numbers(column: pa.DoubleArray) -> _Values:
    """Return the values of a column; zero, mostly, where it has none."""
    return np.frombuffer(column.buffers()[1], np.float64, len(column), column.offset * 8)


def _known(column: pa.DoubleArray) -> _Flags:
    """Tell where a column has values."""
    if not column.null_count:
        return np.ones(len(column), bool)
    bits = np.frombuffer(column.buffers()[0], np.uint8)
    return np.unpackbits(bits, count=len(column), bitorder="little").view(bool)


def _between(values: _Values, most: float | _Values) -> _Flags:
    return (values >= 0) & (values <= most)


_TIME = "time is not like 2017-10-03 00:00:00 PDT"
STREAMS = (
    Stream("cluster_gpu_util", "gpu_samples", ("util_pct",), _gpus, _TIME, ("gpu_layout",)),
    Stream("cluster_cpu_util", "host_samples", ("cpu_pct",), _cpu, _TIME),
    Stream("cluster_mem_util", "host_samples", ("mem_used_gb", "mem_gb"), _memory, _TIME),
)
"""The files, and what they fill."""
