"""Fill the failures table from failure output, beside any source's jobs and attempts."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

import pyarrow as pa

from philly_analysis.errors import InputError
from philly_analysis.failures import Output, classify_text, decode, mask, read_output
from philly_analysis.ingest.failure_output.kernel_log import Event, read_events
from philly_analysis.ingest.failure_output.records import (
    PATTERNS,
    Record,
    Unreadable,
    find_records,
    is_kernel_log,
    list_files,
)
from philly_analysis.ingest.raw_store import RawStore
from philly_analysis.ingest.sql import parquet_scan
from philly_analysis.ingest.timezones import find_zone
from philly_analysis.ingest.trace_builder import TraceBuilder
from philly_analysis.trace import ATTEMPTS, FAILURES, JOBS, REJECTS

END_DELAY = timedelta(minutes=10)
"""Limit on the time from a kernel event to the end of the attempt that it is attributed to."""

EXCERPT_LINES = 2
"""Lines stored above and below the deciding one."""
EXCERPT_CHARS = 2_000

Key = tuple[str, int]
_REJECT = pa.schema(
    [
        ("source_file", pa.string()),
        ("source_line", pa.int64()),
        ("reason", pa.string()),
        ("raw", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class FailureOutput:
    """Output of failed attempts.

    Attributes
    ----------
    path
        Folder or file: files per attempt, JSON lines, kernel logs.
    patterns
        Names of output files, see
        :func:`philly_analysis.ingest.failure_output.records.find_records`.
    clock
        Time zone of kernel logs without one.
    masked
        Mask secrets and personal data in everything that is stored.
    """

    path: Path
    patterns: tuple[str, ...] = PATTERNS
    clock: tzinfo = UTC
    masked: bool = True


def failure_output(
    path: Path | None, patterns: Sequence[str], clock: str, *, masked: bool
) -> FailureOutput | None:
    """Return the failure output at a path, or None without a path.

    Raises
    ------
    InputError
        There is no such time zone.
    """
    if path is None:
        return None
    return FailureOutput(path, tuple(patterns) or PATTERNS, find_zone(clock), masked)


def fill_failures(builder: TraceBuilder, store: RawStore, output: FailureOutput | None) -> None:
    """Classify failure output, and write the failures of attempts in the trace.

    Parameters
    ----------
    builder
        The trace, with its jobs and attempts, and with placements if there are any.
    store
        Earlier failures, which stay if their attempts are still in the trace.
    output
        The output; None: only failures of earlier ingests.

    Raises
    ------
    InputError
        There is nothing at the path, or a pattern is invalid.
    """
    loader = _Loader(builder, store, masked=output is None or output.masked)
    loader.load_earlier()
    if output:
        loader.add_events(output)
        for record in find_records(output.path, output.patterns):
            loader.add(record)
        loader.add_events_alone()
    loader.load_earlier_rejects()
    loader.write()


@dataclass(slots=True)
class _Loader:
    """Failures so far: one row per attempt, and rejected records.

    Attributes
    ----------
    last
        Last attempt of each job.
    passed
        Whether each attempt passed.
    earlier
        Attempts with a row of an earlier ingest, which new output replaces.
    seen
        Files and lines that were read.
    events
        Kernel events by the attempt that they ended.
    """

    builder: TraceBuilder
    store: RawStore
    masked: bool
    read: int = 0
    last: dict[str, int] = field(default_factory=dict)
    passed: dict[Key, bool] = field(default_factory=dict)
    earlier: set[Key] = field(default_factory=set)
    seen: set[tuple[str, int | None]] = field(default_factory=set)
    rows: dict[Key, tuple[object, ...]] = field(default_factory=dict)
    rejects: list[tuple[str, int | None, str, str]] = field(default_factory=list)
    events: dict[Key, list[Event]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        found = self.builder.con.sql(
            """
            select
              job_id, attempt, attempt = max(attempt) over (partition by job_id) as is_last,
              coalesce(end_reason = 'completed', is_last and status = 'Pass', false) as passed
            from attempts inner join jobs using (job_id)
            """
        ).fetchall()
        self.last = {job_id: attempt for job_id, attempt, is_last, _ in found if is_last}
        self.passed = {(job_id, attempt): passed for job_id, attempt, _, passed in found}

    def load_earlier(self) -> None:
        """Load the rows of earlier ingests, each for the present number of its attempt.

        An append may renumber attempts and prefix job ids with the cluster. Attempts are matched
        by cluster, scheduler's id and start.
        """
        if not self.store.files(FAILURES.name):
            return
        failures, attempts, jobs = (
            parquet_scan(self.store.files(table.name)) for table in (FAILURES, ATTEMPTS, JOBS)
        )
        rows = self.builder.con.sql(
            f"""
            with was as (
              select f.*, j.cluster, coalesce(j.scheduler_id, j.job_id) as id, a.started_at
              from {failures} as f
              inner join {attempts} as a using (job_id, attempt)
              inner join {jobs} as j using (job_id)
            ),
            now as (
              select job_id, attempt, started_at, cluster, coalesce(scheduler_id, job_id) as id
              from attempts inner join jobs using (job_id)
            )
            select now.job_id, now.attempt,
              {", ".join(f"was.{c}" for c in FAILURES.column_names[2:])}
            from was inner join now
              on was.id = now.id and was.cluster is not distinct from now.cluster
              and was.started_at is not distinct from now.started_at
            qualify row_number() over (
              partition by was.job_id, was.attempt order by now.attempt <> was.attempt, now.attempt
            ) = 1
            """
        ).fetchall()
        found = {(row[0], row[1]): row for row in rows}
        self.rows |= {key: row for key, row in found.items() if not self.passed[key]}
        self.earlier |= self.rows.keys()
        self.read += len(self.rows)

    def load_earlier_rejects(self) -> None:
        """Load the records that earlier ingests rejected, except those that were read again."""
        if files := self.store.files(REJECTS.name):
            before = self.builder.con.sql(
                "select source_file, source_line, reason, raw "
                f"from {parquet_scan(files)} where \"table\" = '{FAILURES.name}'"
            ).fetchall()
            left = [row for row in before if row[:2] not in self.seen]
            self.read += len(left)
            self.rejects += left

    def add(self, record: Record | Unreadable) -> None:
        """Classify a record, or reject it."""
        self._count(record.source, record.entry)
        if isinstance(record, Unreadable):
            self._reject(record.source, record.entry, record.reason, record.raw)
            return
        attempt = self.last.get(record.job_id, 0) if record.attempt is None else record.attempt
        key = (record.job_id, attempt)
        outputs: list[Output] = []
        fault, raw = self._fault_of(key), f"{record.job_id} attempt {record.attempt or 'last'}"
        if fault is None:
            try:
                outputs = [read_output(file) for file in record.files]
            except InputError as error:
                fault, raw = "the file cannot be read", str(error)
        if fault is None:
            if not record.files:
                lines = record.text.count(b"\n") + 1
                outputs = [Output(record.text, lines, 0, damaged=False)]
            if not any(output.text.strip() for output in outputs):
                damaged = any(output.damaged for output in outputs)
                fault = "the compressed file is damaged" if damaged else "the output is empty"
        if fault is not None:
            self._reject(record.source, record.entry, fault, raw)
            return
        if key in self.earlier:
            self.earlier.remove(key)
            self.read -= 1
        self.rows[key] = self._row(key, outputs)

    def _fault_of(self, key: Key) -> str | None:
        """Return the reason for rejecting a record of an attempt, or None."""
        if key[0] not in self.last:
            return "the job is unknown"
        if key not in self.passed:
            return "the attempt is unknown"
        if self.passed[key]:
            return "the attempt passed"
        if key in self.rows and key not in self.earlier:
            return "the attempt has a record already"
        return None

    def _row(self, key: Key, outputs: list[Output]) -> tuple[object, ...]:
        """Classify an attempt's streams and kernel events, as one text in this order."""
        events = self.events.get(key, [])
        texts = [decode(output.text) for output in outputs] + [event.text for event in events]
        failure = classify_text("\n".join(texts))
        lines = [line for text in texts for line in text.split("\n")]
        at = failure.line_number - 1
        around = lines[max(0, at - EXCERPT_LINES) : at + EXCERPT_LINES + 1] if failure.rule else []
        # masking needs more of a long line than is stored
        excerpt = self._storable("\n".join(line[: 2 * EXCERPT_CHARS] for line in around))
        return (
            *key,
            failure.reason,
            "+".join(failure.tiers),
            failure.fine or None,
            failure.rule or None,
            _line_number(failure.line_number, outputs, events),
            excerpt[:EXCERPT_CHARS] if around else None,
        )

    def add_events(self, output: FailureOutput) -> None:
        """Attribute kernel events to the attempts that they ended, and reject the others."""
        placed = "placements" in self.builder.rows
        [(around,)] = self.builder.con.sql(
            "select coalesce(max(started_at), now()::timestamp) from attempts"
        ).fetchall()
        for file in filter(is_kernel_log, list_files(output.path)):
            for event in self._events_of(file, around, output.clock):
                found = self._ended_by(event) if placed else []
                if len(found) == 1:
                    self.events[found[0]].append(event)
                    continue
                self._count(event.file, event.line)
                reason = (
                    "the trace has no placements"
                    if not placed
                    else "the event has no time"
                    if event.at is None
                    else "several attempts ended on the machine just then"
                    if found
                    else "no attempt ended on the machine just then"
                )
                self._reject(event.file, event.line, reason, event.text)

    def add_events_alone(self) -> None:
        """Classify the kernel events of attempts without other output."""
        for key in self.events:
            if key not in self.rows:
                self.read += 1
                self.rows[key] = self._row(key, [])

    def _events_of(self, file: Path, around: datetime, clock: tzinfo) -> Iterator[Event]:
        """Yield the events of a kernel log, of a truncated one those before its end."""
        try:
            yield from read_events(file, around=around, clock=clock)
        except InputError as error:
            self._count(file.name, None)
            self._reject(file.name, None, "the file cannot be read", str(error))

    def _ended_by(self, event: Event) -> list[Key]:
        """Return the attempts that held the event's machine and ended soon after it."""
        at: datetime | None = event.at
        if at is None:
            return []
        return self.builder.con.execute(
            """
            select distinct job_id, attempt
            from attempts inner join placements using (job_id, attempt)
            where machine_id = $machine and $at >= started_at
              and ended_at between $at::timestamp - interval 1 minute and $until
            order by all
            """,
            {"machine": event.machine_id, "at": at, "until": at + END_DELAY},
        ).fetchall()

    def _count(self, source: str, entry: int | None) -> None:
        self.read += 1
        self.seen.add((source, entry))

    def _storable(self, text: str) -> str:
        return mask(text) if self.masked else text

    def _reject(self, source: str, entry: int | None, reason: str, raw: str) -> None:
        self.rejects.append((source, entry, reason, self._storable(raw)))

    def write(self) -> None:
        """Write the failures and the rejected records."""
        builder = self.builder
        columns = pa.schema([column.arrow.with_nullable(True) for column in FAILURES.columns])
        rows = [dict(zip(columns.names, row, strict=True)) for row in self.rows.values()]
        builder.con.register("failure_rows", pa.Table.from_pylist(rows, columns))
        kept = builder.write_table(FAILURES, "from failure_rows")
        rejects = [dict(zip(_REJECT.names, row, strict=True)) for row in self.rejects]
        builder.con.register("failure_rejects", pa.Table.from_pylist(rejects, _REJECT))
        builder.write_rejects(FAILURES, FAILURES.name, "from failure_rejects")
        builder.add_account(FAILURES, self.read, kept)
        builder.con.unregister("failure_rows")
        builder.con.unregister("failure_rejects")


def _line_number(number: int, outputs: list[Output], events: list[Event]) -> int | None:
    """Return the number that a line of the joined text has in its own file."""
    for output in outputs:
        lines = decode(output.text).count("\n") + 1
        if number <= lines:
            return output.line_number(number) if number else None
        number -= lines
    return events[number - 1].line if number else None
