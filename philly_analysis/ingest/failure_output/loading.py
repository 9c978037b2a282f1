"""Fills the failures table from records of output, beside any source's jobs and attempts."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

import duckdb
import polars as pl

from philly_analysis.errors import InputError
from philly_analysis.failures import Output, classify_text, decode, mask, read_output
from philly_analysis.ingest.failure_output.kernel_log import Event, events
from philly_analysis.ingest.failure_output.records import (
    PATTERNS,
    Record,
    Unreadable,
    files_of,
    is_kernel_log,
    records,
)
from philly_analysis.ingest.loading import (
    Fill,
    count_rejects,
    names,
    parquet,
    path_text,
    save_rejects,
)
from philly_analysis.ingest.raw_store import Kept
from philly_analysis.ingest.timezones import zone_named
from philly_analysis.trace import ATTEMPTS, FAILURES, JOBS, REJECTS, Account

DEATH = timedelta(minutes=10)
"""A kernel event belongs to an attempt that held the machine and ended at most this much later."""

EXCERPT_LINES = 2
"""Lines kept above and below the deciding one."""
EXCERPT_CHARS = 2_000

Key = tuple[str, int]


@dataclass(slots=True)
class _Known:
    """What the trace says of its attempts."""

    last: dict[str, int]
    passed: dict[Key, bool]


@dataclass(slots=True)
class _Tally:
    """Records so far: one row per attempt, and what was not taken.

    Attributes
    ----------
    before
        Attempts whose row an earlier ingest made: what is read of them now takes its place.
    seen
        Files, and lines of them, that records were read from.
    """

    masked: bool
    read: int = 0
    before: set[Key] = field(default_factory=set)
    seen: set[tuple[str, int | None]] = field(default_factory=set)
    rows: dict[Key, tuple[object, ...]] = field(default_factory=dict)
    rejects: list[tuple[str, int | None, str, str]] = field(default_factory=list)

    def store(self, text: str) -> str:
        """Return text as it may be stored."""
        return mask(text) if self.masked else text

    def reject(self, source: str, entry: int | None, reason: str, raw: str) -> None:
        """Count a record as not taken."""
        self.rejects.append((source, entry, reason, self.store(raw)))


@dataclass(frozen=True, slots=True)
class FailureOutput:
    """Where the output of failed attempts is, and how to read it.

    Attributes
    ----------
    path
        Folder or file: files per attempt, JSON lines, kernel logs.
    patterns
        Names of output files, see `philly_analysis.ingest.failure_output.records.records`.
    clock
        Zone of kernel logs whose clocks print none.
    masked
        Replace secrets and personal data in everything that is stored.
    """

    path: Path
    patterns: tuple[str, ...] = PATTERNS
    clock: tzinfo = UTC
    masked: bool = True


def failure_output(
    path: str | Path | None, patterns: Sequence[str], clock: str, *, masked: bool
) -> FailureOutput | None:
    """Return where failed output is and how to read it; None where there is none.

    Raises
    ------
    InputError
        There is no such time zone.
    """
    if path is None:
        return None
    return FailureOutput(Path(path), tuple(patterns) or PATTERNS, zone_named(clock), masked)


def fill_failures(fill: Fill, kept: Kept, output: FailureOutput | None) -> None:
    """Classify the records and write those of attempts that the trace holds.

    Parameters
    ----------
    fill
        A trace in the making, its jobs and attempts filled, its placements if there are any.
    kept
        The trace that grows: what was said of attempts that it still holds goes on to hold.
    output
        The records; None: none but those of before.

    Raises
    ------
    InputError
        There is nothing at the path, or a pattern cannot be used.
    """
    known = _known(fill.con)
    tally = _Tally(masked=output is None or output.masked)
    _recall(fill.con, kept, known, tally)
    if output:
        heard = _heard(output, fill, tally)
        for record in records(output.path, output.patterns):
            tally.read += 1
            tally.seen.add((record.source, record.entry))
            if isinstance(record, Unreadable):
                tally.reject(record.source, record.entry, record.reason, record.raw)
            else:
                _take(record, known, heard, tally)
        for key, said in heard.items():
            if key not in tally.rows:
                tally.read += 1
                tally.rows[key] = _row(key, [], said, tally)
    _recall_rejects(fill.con, kept, tally)
    _write(fill, tally)


def _recall(con: duckdb.DuckDBPyConnection, kept: Kept, known: _Known, tally: _Tally) -> None:
    """Take over the rows of before, each for the attempt that its attempt is now.

    An append may number attempts anew and put a cluster's name before job ids: an attempt is known
    again by its cluster, the id that people type, and its start.
    """
    if not kept.files(FAILURES.name):
        return
    rows = con.sql(
        f"""
        with was as (
          select f.*, j.cluster, coalesce(j.scheduler_id, j.job_id) as id, a.started_at
          from {parquet(kept.files(FAILURES.name))} as f
          inner join {parquet(kept.files(ATTEMPTS.name))} as a using (job_id, attempt)
          inner join {parquet(kept.files(JOBS.name))} as j using (job_id)
        ),
        now as (
          select job_id, attempt, started_at, cluster, coalesce(scheduler_id, job_id) as id
          from attempts inner join jobs using (job_id)
        )
        select now.job_id, now.attempt, {", ".join(f"was.{c}" for c in FAILURES.column_names[2:])}
        from was inner join now
          on was.id = now.id and was.cluster is not distinct from now.cluster
          and was.started_at is not distinct from now.started_at
        qualify row_number() over (
          partition by was.job_id, was.attempt order by now.attempt <> was.attempt, now.attempt
        ) = 1
        """
    ).fetchall()
    taken = {(row[0], row[1]): row for row in rows}
    tally.rows |= {key: row for key, row in taken.items() if not known.passed[key]}
    tally.before |= tally.rows.keys()
    tally.read += len(tally.rows)


def _recall_rejects(con: duckdb.DuckDBPyConnection, kept: Kept, tally: _Tally) -> None:
    """Take over the records that were rejected before, but those that were read again."""
    if kept.files(REJECTS.name):
        before = con.sql(
            "select source_file, source_line, reason, raw "
            f"from {parquet(kept.files(REJECTS.name))} where \"table\" = '{FAILURES.name}'"
        ).fetchall()
        left = [row for row in before if row[:2] not in tally.seen]
        tally.read += len(left)
        tally.rejects += left


def _known(con: duckdb.DuckDBPyConnection) -> _Known:
    found = con.sql(
        """
        select
          job_id, attempt, attempt = max(attempt) over (partition by job_id) as is_last,
          coalesce(end_reason = 'completed', is_last and status = 'Pass', false) as passed
        from attempts inner join jobs using (job_id)
        """
    ).fetchall()
    return _Known(
        last={job_id: attempt for job_id, attempt, is_last, _ in found if is_last},
        passed={(job_id, attempt): passed for job_id, attempt, _, passed in found},
    )


def _take(record: Record, known: _Known, heard: dict[Key, list[Event]], tally: _Tally) -> None:
    """Judge one record, or reject it with the reason."""
    shown = f"{record.job_id} attempt {record.attempt or 'last'}"
    attempt = record.attempt if record.attempt is not None else known.last.get(record.job_id)
    if attempt is None:
        return tally.reject(record.source, record.entry, "the job is unknown", shown)
    key = (record.job_id, attempt)
    if key not in known.passed:
        reason = "the attempt is unknown" if record.job_id in known.last else "the job is unknown"
        return tally.reject(record.source, record.entry, reason, shown)
    if known.passed[key]:
        return tally.reject(record.source, record.entry, "the attempt passed", shown)
    if key in tally.rows and key not in tally.before:
        return tally.reject(record.source, record.entry, "the attempt has a record already", shown)
    try:
        outputs = [read_output(file) for file in record.files]
    except InputError as error:
        return tally.reject(record.source, record.entry, "the file cannot be read", str(error))
    if not record.files:
        outputs = [Output(record.text, record.text.count(b"\n") + 1, 0, damaged=False)]
    if not any(output.text.strip() for output in outputs):
        damaged = any(output.damaged for output in outputs)
        reason = "the compressed file is damaged" if damaged else "the output is empty"
        return tally.reject(record.source, record.entry, reason, shown)
    if key in tally.before:
        tally.before.remove(key)
        tally.read -= 1
    tally.rows[key] = _row(key, outputs, heard.get(key, []), tally)
    return None


def _row(key: Key, outputs: list[Output], said: list[Event], tally: _Tally) -> tuple[object, ...]:
    """Classify an attempt's streams and what the kernel said, as one text in this order."""
    texts = [decode(output.text) for output in outputs] + [event.text for event in said]
    failure = classify_text("\n".join(texts))
    lines = [line for text in texts for line in text.split("\n")]
    at = failure.line_number - 1
    around = lines[max(0, at - EXCERPT_LINES) : at + EXCERPT_LINES + 1] if failure.rule else []
    # what is cut off may tell what the rest is
    excerpt = tally.store("\n".join(line[: 2 * EXCERPT_CHARS] for line in around))[:EXCERPT_CHARS]
    return (
        *key,
        failure.reason,
        "+".join(failure.tiers),
        failure.fine or None,
        failure.rule or None,
        _line_number(failure.line_number, outputs, said),
        excerpt if around else None,
    )


def _line_number(number: int, outputs: list[Output], said: list[Event]) -> int | None:
    """Return the number that a line of the joined text has in its own file."""
    for output in outputs:
        lines = decode(output.text).count("\n") + 1
        if number <= lines:
            return output.line_number(number) if number else None
        number -= lines
    return said[number - 1].line if number else None


def _heard(output: FailureOutput, fill: Fill, tally: _Tally) -> dict[Key, list[Event]]:
    """Events of the kernel logs by the attempt that they ended; others are rejected."""
    heard: dict[Key, list[Event]] = defaultdict(list)
    placed = "placements" in fill.rows
    [(around,)] = fill.con.sql(
        "select coalesce(max(started_at), now()::timestamp) from attempts"
    ).fetchall()
    for file in filter(is_kernel_log, files_of(output.path)):
        for event in _events(file, around, output, tally):
            found = _ended_by(event, fill.con) if placed else []
            if len(found) == 1:
                heard[found[0]].append(event)
                continue
            tally.read += 1
            tally.seen.add((event.file, event.line))
            why = (
                "the trace has no placements"
                if not placed
                else "the event has no time"
                if event.at is None
                else "several attempts ended on the machine just then"
                if found
                else "no attempt ended on the machine just then"
            )
            tally.reject(event.file, event.line, why, event.text)
    return heard


def _events(file: Path, around: datetime, output: FailureOutput, tally: _Tally) -> Iterator[Event]:
    """Read a kernel log; of one that was cut off what can be read."""
    try:
        yield from events(file, around=around, clock=output.clock)
    except InputError as error:
        tally.read += 1
        tally.seen.add((file.name, None))
        tally.reject(file.name, None, "the file cannot be read", str(error))


def _ended_by(event: Event, con: duckdb.DuckDBPyConnection) -> list[Key]:
    at: datetime | None = event.at
    if at is None:
        return []
    return con.execute(
        """
        select distinct job_id, attempt
        from attempts inner join placements using (job_id, attempt)
        where machine_id = $machine and $at >= started_at
          and ended_at between $at::timestamp - interval 1 minute and $until
        order by all
        """,
        {"machine": event.machine_id, "at": at, "until": at + DEATH},
    ).fetchall()


def _write(fill: Fill, tally: _Tally) -> None:
    rows = pl.DataFrame(
        list(tally.rows.values()),
        schema={c.name: pl.String for c in FAILURES.columns}
        | {"attempt": pl.Int32, "line": pl.Int64},
        orient="row",
    )
    rejects = pl.DataFrame(
        tally.rejects,
        schema={
            "source_file": pl.String,
            "source_line": pl.Int64,
            "reason": pl.String,
            "raw": pl.String,
        },
        orient="row",
    )
    con, file = fill.con, fill.folder / f"{FAILURES.name}.parquet"
    con.register("failure_rows", rows.to_arrow())
    con.register("failure_rejects", rejects.to_arrow())
    con.execute(
        f"copy (select {FAILURES.typed_columns} from failure_rows "
        f"order by {names(FAILURES.key)}) to {path_text(file)} (format parquet, compression zstd)"
    )
    con.read_parquet(str(file)).create_view(FAILURES.name)
    fill.rows[FAILURES.name] = rows.height
    save_rejects(fill, FAILURES, FAILURES.name, "select * from failure_rejects")
    rejected = count_rejects(fill, FAILURES)
    fill.accounts.append(Account(FAILURES.name, tally.read, rows.height, rejected))
    con.unregister("failure_rows")
    con.unregister("failure_rejects")
