"""Reads the archive's utilisation files: what each line says of a machine's GPUs, or of itself."""

from collections.abc import Callable
from dataclasses import dataclass

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from philly_analysis.ingest.source import NEVER, Read, Readings, Stream

_GPUS = 8
_PLACES = np.uint64(1) << np.arange(0, 64, 8, dtype=np.uint64)
"""Eight flags, read as one number, are at least the place of the last that is set."""
_FIRST = np.append(np.uint64(0), np.cumsum(_PLACES))
"""Eight flags, read as one number, of which the first so many are set."""

_Values = npt.NDArray[np.float64]
_Moments = npt.NDArray[np.int64]
_Flags = npt.NDArray[np.bool_]


def _gpus(con: duckdb.DuckDBPyConnection) -> Read:
    layouts = {
        machine: (gpus, doubled)
        for machine, gpus, doubled in con.sql(
            "select machine_id, least(gpus, 8), doubled from gpu_layout where gpus > 0"
        ).fetchall()
    }
    return _Gpus(layouts)


@dataclass(frozen=True, slots=True)
class _Gpus:
    """Reads cluster_gpu_util: as many values as the machine has GPUs, each of them once."""

    layouts: dict[str, tuple[int, bool]]

    def __call__(self, lines: pa.Table) -> Readings:
        machine = lines["machine_id"].chunk(0)
        layout = [self.layouts.get(name, (0, False)) for name in machine.dictionary.to_pylist()]
        of_machine = np.array(layout, np.int8)
        gpus, doubled = (of.take(machine.indices.to_numpy()) for of in of_machine.T)
        columns = [lines[name].chunk(0) for name in lines.column_names if name[:1] == "v"]
        if len(columns) > _GPUS:  # each GPU twice
            columns, gpus, doubled = columns[::2], np.full_like(gpus, _GPUS), doubled * 0
        numbers = [_numbers(column) for column in columns]
        told = [_known(column) for column in columns]
        if (twice := doubled.view(bool)).any():
            for each in (numbers, told):
                firsts = zip(each[: _GPUS // 2], each[::2], strict=True)
                each[: _GPUS // 2] = [np.where(twice, second, once) for once, second in firsts]
            told[_GPUS // 2 :] = [one & ~twice for one in told[_GPUS // 2 :]]
        values, known = np.stack(numbers, axis=1), np.stack(told, axis=1)
        # more values than the machine is known to have GPUs tell of more
        filled = np.searchsorted(_PLACES, known.view("<u8")[:, 0], side="right")
        gpus = np.maximum(gpus, np.maximum(filled, 1).astype(np.int8))
        held = _FIRST.take(gpus).view(bool).reshape(-1, _GPUS)
        util = values[held]
        sound = np.ones(len(values), bool)
        if not _between(util, 100).all():
            sound = (_between(values, 100) | ~held).all(axis=1)
        ends = pa.array(np.append(np.int32(0), np.cumsum(gpus, dtype=np.int32)))
        lists = pa.ListArray.from_arrays(ends, pa.array(util, mask=~known[held]))
        return Readings(_times(lines), {"util_pct": lists}, sound)


def _cpu(lines: pa.Table) -> Readings:
    """Read cluster_cpu_util."""
    cpu = lines["cpu_util"].chunk(0)
    return Readings(_times(lines), {"cpu_pct": cpu}, _between(_numbers(cpu), 100))


def _memory(lines: pa.Table) -> Readings:
    """Read cluster_mem_util, which counts in kB."""
    total, free = (lines[name].chunk(0) for name in ("mem_total", "mem_free"))
    used, held = (pc.divide(kb, 1048576.0) for kb in (pc.subtract(total, free), total))
    sound = (_numbers(held) > 0) & _between(_numbers(used), _numbers(held))
    return Readings(_times(lines), {"mem_used_gb": used, "mem_gb": held}, sound)


def _always(read: Read) -> Callable[[duckdb.DuckDBPyConnection], Read]:
    return lambda con: read


def _times(lines: pa.Table) -> _Moments:
    """Return the moment of each line; a text is read once, however many lines share it."""
    time = lines["time"].chunk(0)
    try:
        moments = _moments(time.dictionary)
    except pa.ArrowInvalid:
        moments = np.array([_moment(text) for text in time.dictionary.to_pylist()])
    of_lines: _Moments = moments[time.indices.to_numpy()]
    return of_lines


def _moments(pacific: pa.StringArray) -> _Moments:
    """Return the moments of US Pacific times that name their zones; NEVER for other texts.

    By their zones both runs of the hour which 2017-11-05 repeats are told apart.

    Raises
    ------
    pa.ArrowInvalid
        There is a 30 February among them, or the like.
    """
    summer = pc.match_like(pacific, "____-__-__ __:__:__ PDT")
    timely = pc.or_(summer, pc.match_like(pacific, "____-__-__ __:__:__ PST"))
    texts = pc.if_else(timely, pc.utf8_slice_codeunits(pacific, 0, 19), None)
    behind_s = pc.if_else(summer, 7 * 3600, 8 * 3600)
    utc_s = pc.add(texts.cast(pa.timestamp("s")).cast(pa.int64()), behind_s)
    moments: _Moments = pc.fill_null(pc.multiply(utc_s, 1_000_000), NEVER).to_numpy()
    return moments


def _moment(pacific: str) -> int:
    """Return the moment of a single text."""
    try:
        return int(_moments(pa.array([pacific]))[0])
    except pa.ArrowInvalid:
        return NEVER


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
    Stream("cluster_cpu_util", "host_samples", ("cpu_pct",), _always(_cpu), _TIME),
    Stream("cluster_mem_util", "host_samples", ("mem_used_gb", "mem_gb"), _always(_memory), _TIME),
)
"""The files, and what they fill."""
