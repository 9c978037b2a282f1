"""Fill the failures table from failure output, beside any source's jobs and attempts."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice, tee
from pathlib import Path
from typing import NamedTuple

from philly_analysis.errors import InputError
from philly_analysis.failures import (
    Failure,
    Output,
    classify_texts,
    decode,
    last_lines,
    mask,
    read_output,
)
from philly_analysis.ingest.failure_output.kernel_log import Event, read_events
from philly_analysis.ingest.failure_output.records import (
    FailureOutput,
    Record,
    Unreadable,
    find_records,
    is_kernel_log,
    list_files,
)
from philly_analysis.ingest.raw_tables import RAW_TABLES
from philly_analysis.ingest.sql import arrow_table, create_table, parquet_scan
from philly_analysis.ingest.trace_builder import Rejected, TraceBuilder
from philly_analysis.trace import ATTEMPTS, FAILURES, JOBS, REJECTS

EXCERPT_LINES = 2
"""Lines stored above and below the deciding line."""
EXCERPT_CHARS = 2_000

Key = tuple[str, int]
Row = tuple[object, ...]


def fill_failures(builder: TraceBuilder, output: FailureOutput | None) -> None:
    """Classify failure output, and write the failures of attempts in the trace.

    Parameters
    ----------
    builder
        Trace with jobs and attempts, and with placements if the source has placements. Failures of
        earlier ingests stay if the trace still has their attempts.
    output
        Failure output; None: only failures of earlier ingests.

    Raises
    ------
    InputError
        There is nothing at the path, or a pattern is invalid.
    """
    loader = _Loader(builder)
    if output:
        loader.add_events(output)
        loader.add_records(find_records(output.path, output.patterns))
    loader.write()


class _Text(NamedTuple):
    """Streams and kernel events of an attempt as one text, with line numbers in the sources."""

    key: Key
    joined: str
    numbers: Iterator[int]


def _join(key: Key, outputs: list[Output], events: list[Event]) -> _Text:
    streams = [decode(output.text) for output in outputs]
    numbers = chain(
        *(
            map(output.line_number, range(1, stream.count("\n") + 2))
            for output, stream in zip(outputs, streams, strict=True)
        ),
        (event.line for event in events),
    )
    return _Text(key, "\n".join((*streams, *(event.text for event in events))), numbers)


@dataclass(slots=True)
class _Loader:
    """Failures so far: one row per attempt, and rejected records.

    Attributes
    ----------
    read
        Records and events so far.
    seen
        Files and lines of the records and events so far.
    last
        Last attempt of each job.
    names
        Jobs by the scheduler's other names of a job, which are not the identifier.
    passed
        Whether each attempt passed.
    recorded
        Attempts with a record.
    earlier
        Rows of earlier ingests, which new output replaces.
    events
        Kernel events by the attempt that they ended.
    """

    builder: TraceBuilder
    read: int = 0
    seen: set[tuple[str, int | None]] = field(default_factory=set)
    last: dict[str, int] = field(default_factory=dict)
    names: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    passed: dict[Key, bool] = field(default_factory=dict)
    earlier: dict[Key, Row] = field(default_factory=dict)
    recorded: set[Key] = field(default_factory=set)
    rows: dict[Key, Row] = field(default_factory=dict)
    rejects: list[Rejected] = field(default_factory=list)
    events: dict[Key, list[Event]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        """Load the attempts, and rows of earlier ingests under the attempts' present numbers."""
        con, store = self.builder.con, self.builder.store
        outcomes = con.sql(_select("attempt_outcomes")).fetchall()
        self.last = {job_id: attempt for job_id, attempt, _ in outcomes}
        self.passed = {(job_id, attempt): passed for job_id, attempt, passed in outcomes}
        for name, job_id in con.sql(
            "select name, job_id from job_names where name <> job_id order by all"
        ).fetchall():
            self.names[name].append(job_id)
        if store.files(FAILURES.name):
            for table in (FAILURES, ATTEMPTS, JOBS):
                scan = parquet_scan(store.files(table.name))
                con.sql(f"from {scan}").create_view(f"earlier_{table.name}")
            rows = con.sql(_select("continued_failures")).fetchall()
            self.earlier = {row[:2]: row for row in rows if not self.passed[row[:2]]}

    def add_records(self, records: Iterable[Record | Unreadable]) -> None:
        """Classify records, and kernel events of attempts without records; reject the remainder."""
        texts, attempts = tee(self._texts(records))
        failures = classify_texts(text.joined for text in texts)
        for text, failure in zip(attempts, failures, strict=True):
            self.rows[text.key] = self._row(text, failure)

    def _texts(self, records: Iterable[Record | Unreadable]) -> Iterator[_Text]:
        """Yield the text of each attempt with output, and count or reject each record."""
        for record in records:
            if isinstance(record, Unreadable):
                self._reject(*record)
                continue
            jobs = self._jobs_of(record.job_id)
            job_id = jobs[0] if len(jobs) == 1 else ""
            attempt = self.last.get(job_id, 0) if record.attempt is None else record.attempt
            key = (job_id, attempt)
            outputs: list[Output] = []
            raw = f"{record.job_id} attempt {record.attempt or 'last'}"
            fault = "the name is of several jobs" if jobs[1:] else self._fault_of(key)
            if fault is None:
                try:
                    outputs = [read_output(file) for file in record.files] or [Output(record.text)]
                    fault = _fault_of_text(outputs)
                except InputError as error:
                    fault, raw = "the file cannot be read", str(error)
            if fault is not None:
                self._reject(record.source, record.entry, fault, raw)
                continue
            self._count(record.source, record.entry)
            self.recorded.add(key)
            yield _join(key, outputs, self.events.get(key, []))
        for key in self.events.keys() - self.recorded - self.earlier.keys():
            self.read += 1
            yield _join(key, [], self.events[key])

    def _jobs_of(self, name: str) -> list[str]:
        """Return the jobs that a name may mean: the job of this identifier, or its other names."""
        return [name] if name in self.last else self.names.get(name, [])

    def _fault_of(self, key: Key) -> str | None:
        """Return the reason for rejecting a record of an attempt, or None."""
        if key[0] not in self.last:
            return "the job is unknown"
        if key not in self.passed:
            return "the attempt is unknown"
        if self.passed[key]:
            return "the attempt passed"
        return "the attempt has a record already" if key in self.recorded else None

    def _row(self, text: _Text, failure: Failure) -> Row:
        named = (*text.key, failure.reason, "+".join(failure.tiers), failure.fine or None)
        if not failure.rule:
            last = last_lines(text.joined) if failure.level == "none" else ""
            return (*named, None, None, self._storable(last)[:EXCERPT_CHARS] or None)
        at = failure.line_number - 1
        around = text.joined.split("\n")[max(0, at - EXCERPT_LINES) : at + EXCERPT_LINES + 1]
        # masking needs more of a long line than is stored
        excerpt = self._storable("\n".join(line[: 2 * EXCERPT_CHARS] for line in around))
        line = next(islice(text.numbers, at, None))
        return (*named, failure.rule, line, excerpt[:EXCERPT_CHARS])

    def add_events(self, output: FailureOutput) -> None:
        """Attribute kernel events to the attempts that they ended, and reject other events."""
        placed = "placements" in self.builder.rows
        [(around,)] = self.builder.con.sql(
            "select coalesce(max(started_at), now()::timestamp) from attempts"
        ).fetchall()
        for file in filter(is_kernel_log, list_files(output.path)):
            events: list[Event] = []
            try:  # a truncated file has the events before its end
                events.extend(read_events(file, around=around, clock=output.clock))
            except InputError as error:
                self._reject(file.name, None, "the file cannot be read", str(error))
            ended = self._ended_by(events) if placed else {}
            for number, event in enumerate(events):
                attempts = ended.get(number, [])
                if len(attempts) == 1:
                    self.events[attempts[0]].append(event)
                    continue
                reason = (
                    "the trace has no placements"
                    if not placed
                    else "the event has no time"
                    if event.at is None
                    else "several attempts ended on the machine just then"
                    if attempts
                    else "no attempt ended on the machine just then"
                )
                self._reject(event.file, event.line, reason, event.text)

    def _ended_by(self, events: list[Event]) -> dict[int, list[Key]]:
        """Return attempts that ended just after each event on the same machine, by event index."""
        rows = ((n, event.machine_id, event.at) for n, event in enumerate(events))
        table = arrow_table(rows, RAW_TABLES["kernel_events"])
        create_table(self.builder.con, "kernel_events", table)
        ended = defaultdict[int, list[Key]](list)
        for event, *key in self.builder.con.sql(_select("ended_attempts")).fetchall():
            ended[event].append(tuple(key))
        return ended

    def _count(self, source: str, entry: int | None) -> None:
        self.read += 1
        self.seen.add((source, entry))

    def _storable(self, text: str) -> str:
        return mask(text) if self.builder.store.masked else text

    def _reject(self, source: str, entry: int | None, reason: str, raw: str) -> None:
        self._count(source, entry)
        self.rejects.append((source, entry, reason, self._storable(raw)))

    def write(self) -> None:
        """Write the failures and rejected records of this ingest and of earlier ingests."""
        builder = self.builder
        self.read += len(self.earlier.keys() - self.rows.keys())
        rows = (self.earlier | self.rows).values()
        builder.con.register("failure_rows", arrow_table(rows, FAILURES.arrow))
        kept = builder.write_table(FAILURES, "from failure_rows")
        if files := builder.store.files(REJECTS.name):
            before = builder.con.sql(
                "select source_file, source_line, reason, raw "
                f"from {parquet_scan(files)} where \"table\" = '{FAILURES.name}'"
            ).fetchall()
            unseen = [row for row in before if row[:2] not in self.seen]
            self.read += len(unseen)
            self.rejects += unseen
        builder.write_rejects(FAILURES, FAILURES.name, self.rejects)
        builder.add_account(FAILURES, self.read, kept)


def _select(name: str) -> str:
    return Path(__file__).with_name(f"{name}.sql").read_text("utf-8")


def _fault_of_text(outputs: list[Output]) -> str | None:
    """Return the reason for rejecting the streams of an attempt, or None."""
    if any(output.text.strip() for output in outputs):
        return None
    damaged = any(output.damaged for output in outputs)
    return "the compressed file is damaged" if damaged else "the output is empty"
