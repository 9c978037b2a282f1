"""Parse lines of the archive's utilisation files: GPUs, CPU and memory of a machine."""

from collections.abc import Callable
from functools import partial

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from philly_analysis.ingest.source import NO_TIME, ParsedRows, Parser, Stream

_GPUS = 8
_MINUTE_S = 60.0
_FEWEST_TIMES = 100
"""Fewest distinct times from which the length of a reading is estimated."""
_PLACES = np.uint64(1) << np.arange(0, 64, 8, dtype=np.uint64)
"""Least value of eight flags, read as one number, by the position of the highest set flag."""
_FIRST = np.append(np.uint64(0), np.cumsum(_PLACES))
"""Eight flags, read as one number, by the number of leading flags that are set."""

_Values = npt.NDArray[np.float64]
_Times = npt.NDArray[np.int64]
_Flags = npt.NDArray[np.bool_]


def _gpus(con: duckdb.DuckDBPyConnection) -> Parser:
    rows = con.sql(
        "select machine_id, least(gpus, 8), doubled from gpu_layout where gpus > 0"
    ).fetchall()
    return partial(_gpu_rows, {machine: (gpus, doubled) for machine, gpus, doubled in rows})


def _gpu_rows(layouts: dict[str, tuple[int, bool]], lines: pa.Table) -> ParsedRows:
    """Parse cluster_gpu_util: one value for each GPU of the machine."""
    machine = lines["machine_id"].chunk(0)
    layout = [layouts.get(name, (0, False)) for name in machine.dictionary.to_pylist()]
    of_machine = np.array(layout, np.int8)
    gpus, doubled = (of.take(machine.indices.to_numpy()) for of in of_machine.T)
    columns = [lines[name].chunk(0) for name in lines.column_names if name[:1] == "v"]
    if len(columns) > _GPUS:  # two values for each GPU
        columns, gpus, doubled = columns[::2], np.full_like(gpus, _GPUS), doubled * 0
    numbers = [_numbers(column) for column in columns]
    valid = [column.is_valid().to_numpy(zero_copy_only=False) for column in columns]
    if (twice := doubled.view(bool)).any():
        for columns_by_gpu in (numbers, valid):
            firsts = zip(columns_by_gpu[: _GPUS // 2], columns_by_gpu[::2], strict=True)
            columns_by_gpu[: _GPUS // 2] = [
                np.where(twice, second, once) for once, second in firsts
            ]
        valid[_GPUS // 2 :] = [one & ~twice for one in valid[_GPUS // 2 :]]
    values, has_value = np.stack(numbers, axis=1), np.stack(valid, axis=1)
    # a machine has at least as many GPUs as the row has values
    filled = np.searchsorted(_PLACES, has_value.view("<u8")[:, 0], side="right")
    gpus = np.maximum(gpus, np.maximum(filled, 1).astype(np.int8))
    present = _FIRST.take(gpus).view(bool).reshape(-1, _GPUS)
    util = values[present]
    in_range = np.ones(len(values), bool)
    if not _between(util, 100).all():
        in_range = (_between(values, 100) | ~present).all(axis=1)
    ends = pa.array(np.append(np.int32(0), np.cumsum(gpus, dtype=np.int32)))
    lists = pa.ListArray.from_arrays(ends, pa.array(util, mask=~has_value[present]))
    return ParsedRows(_times(lines), {"util_pct": lists}, in_range)


def _cpu(lines: pa.Table) -> ParsedRows:
    """Parse cluster_cpu_util."""
    cpu = lines["cpu_util"].chunk(0)
    return ParsedRows(_times(lines), {"cpu_pct": cpu}, _between(_numbers(cpu), 100))


def _memory(lines: pa.Table) -> ParsedRows:
    """Parse cluster_mem_util, in kB."""
    import pyarrow.compute as pc

    total, free = (lines[name].chunk(0) for name in ("mem_total", "mem_free"))
    used, installed = (pc.divide(kb, 1048576.0) for kb in (pc.subtract(total, free), total))
    in_range = (_numbers(installed) > 0) & _between(_numbers(used), _numbers(installed))
    return ParsedRows(_times(lines), {"mem_used_gb": used, "mem_gb": installed}, in_range)


def _times(lines: pa.Table) -> _Times:
    """Return the time of each line; each distinct text is parsed once."""
    time = lines["time"].chunk(0)
    times: _Times = _distinct_times(time.dictionary)[time.indices.to_numpy()]
    return times


def _distinct_times(texts: pa.StringArray) -> _Times:
    try:
        return _to_utc_us(texts)
    except pa.ArrowInvalid:
        return np.array([_time_of(text) for text in texts.to_pylist()])


def _to_utc_us(pacific: pa.StringArray) -> _Times:
    """Convert US Pacific times with their zones to UTC; NO_TIME for other texts.

    The zones distinguish both runs of the repeated hour of 2017-11-05.

    Raises
    ------
    pa.ArrowInvalid
        A date does not exist.
    """
    import pyarrow.compute as pc

    summer = pc.match_like(pacific, "____-__-__ __:__:__ PDT")
    zoned = pc.or_(summer, pc.match_like(pacific, "____-__-__ __:__:__ PST"))
    texts = pc.if_else(zoned, pc.utf8_slice_codeunits(pacific, 0, 19), None)
    behind_s = pc.if_else(summer, 7 * 3600, 8 * 3600)
    utc_s = pc.add(texts.cast(pa.timestamp("s")).cast(pa.int64()), behind_s)
    times: _Times = pc.fill_null(pc.multiply(utc_s, 1_000_000), NO_TIME).to_numpy()
    return times


def _time_of(pacific: str) -> int:
    """Convert one US Pacific time to UTC; NO_TIME for another text."""
    try:
        return int(_to_utc_us(pa.array([pacific]))[0])
    except pa.ArrowInvalid:
        return NO_TIME


def _numbers(column: pa.DoubleArray) -> _Values:
    """Return the values of a column; missing values are usually zero."""
    return np.frombuffer(column.buffers()[1], np.float64, len(column), column.offset * 8)


def _between(values: _Values, most: float | _Values) -> _Flags:
    return (values >= 0) & (values <= most)


def reading_length_s(times: pa.StringArray) -> float | None:
    """Return the seconds for which each reading stands; None: a minute, as in the archive.

    A thinner copy of the archive has means of longer intervals. A file with few readings counts as
    the archive's.

    Parameters
    ----------
    times
        Distinct times of a file, as text.
    """
    at = _distinct_times(times)
    at = np.unique(at[at != NO_TIME])
    if len(at) < _FEWEST_TIMES:
        return None
    gaps_us, counts = np.unique(np.diff(at), return_counts=True)
    usual_s = float(gaps_us[counts.argmax()]) / 1e6
    return None if usual_s == _MINUTE_S else usual_s


def _with_length(parse: Parser, seconds: float | None, lines: pa.Table) -> ParsedRows:
    rows = parse(lines)
    rows.columns["seconds"] = pa.repeat(pa.scalar(seconds, pa.float64()), len(lines))
    return rows


def _stream(
    file: str,
    table: str,
    columns: tuple[str, ...],
    open_parser: Callable[[duckdb.DuckDBPyConnection], Parser],
    *relations: str,
) -> Stream:
    """Return the stream of a file into a table; each row has the length of the file's readings."""

    def opened(con: duckdb.DuckDBPyConnection) -> Parser:
        row = con.execute("select seconds from reading_lengths where file = ?", [file])
        [(seconds,)] = row.fetchall()
        return partial(_with_length, open_parser(con), seconds)

    error = "time is not like 2017-10-03 00:00:00 PDT"
    return Stream(file, table, (*columns, "seconds"), opened, error, relations)


STREAMS = (
    _stream("cluster_gpu_util", "gpu_samples", ("util_pct",), _gpus, "gpu_layout"),
    _stream("cluster_cpu_util", "host_samples", ("cpu_pct",), lambda _: _cpu),
    _stream("cluster_mem_util", "host_samples", ("mem_used_gb", "mem_gb"), lambda _: _memory),
)
"""Streams of the utilisation files, with the columns that they fill."""
