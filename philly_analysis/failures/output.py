"""Read and classify the output of failed attempts, of any size, in bounded memory."""

import gzip
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING

from philly_analysis.errors import InputError, file_errors
from philly_analysis.failures.classifier import Failure, classify_texts
from philly_analysis.failures.events import Event
from philly_analysis.failures.explanation import sentences
from philly_analysis.failures.lines import decode
from philly_analysis.failures.masking import mask
from philly_analysis.failures.suggest import count_lines, is_trace, last_lines, unexplained_of
from philly_analysis.failures.taxonomies import categories_of
from philly_analysis.results import Fact, Result
from philly_analysis.trace import Trace

if TYPE_CHECKING:
    import pandas as pd

HEAD_BYTES = 4 << 20
TAIL_BYTES = 12 << 20
_CHUNK_BYTES = 1 << 20
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Output:
    """Text read of one attempt's output.

    Attributes
    ----------
    text
        The whole output, or its head and its tail where it is longer than both.
    head_lines
        Lines of `text` before the gap.
    skipped_lines
        Lines in the gap; 0 if none was skipped.
    damaged
        True if the compressed file was truncated.
    """

    text: bytes
    head_lines: int = 0
    skipped_lines: int = 0
    damaged: bool = False

    def line_number(self, number: int) -> int:
        """Return the number in the whole output of a line of `text`."""
        return number if number <= self.head_lines else number + self.skipped_lines


def read_output(path: Path, *, head: int = HEAD_BYTES, tail: int = TAIL_BYTES) -> Output:
    """Read the head and the tail of a plain or gzip-compressed file.

    Raises
    ------
    InputError
        The file is missing or cannot be opened.
    """
    first = bytearray()
    last: deque[bytes] = deque()
    last_bytes = skipped_lines = 0
    damaged = False
    with file_errors(InputError, f"{path} cannot be read"):
        with path.open("rb") as raw:
            compressed = raw.read(2) == _GZIP
        with gzip.open(path) if compressed else path.open("rb") as file:
            try:
                while chunk := file.read(_CHUNK_BYTES):
                    split = max(0, head - len(first))
                    first += chunk[:split]
                    if remainder := chunk[split:]:
                        last.append(remainder)
                        last_bytes += len(remainder)
                    while last and last_bytes - len(last[0]) >= tail:
                        skipped = last.popleft()
                        last_bytes -= len(skipped)
                        skipped_lines += skipped.count(b"\n")
            except (EOFError, zlib.error, gzip.BadGzipFile):
                damaged = True
    text = bytes(first) + b"".join(last)
    return Output(text, first.count(b"\n") + 1, skipped_lines, damaged)


def classify_outputs(outputs: Iterable[Output]) -> Iterator[Failure]:
    """Classify outputs in batches; line numbers count from the start of the whole file."""
    outputs, texts = tee(outputs)
    failures = classify_texts(output.text for output in texts)
    for output, failure in zip(outputs, failures, strict=True):
        events = tuple(
            replace(event, line_number=output.line_number(event.line_number))
            for event in failure.events
        )
        number = output.line_number(failure.line_number)
        yield replace(failure, line_number=number, events=events)


def classify(
    outputs: str | Path | Iterable[str | Path] = (),
    *,
    text: str | Iterable[str] = (),
    events: bool = False,
    suggest: bool = False,
    taxonomies: bool = False,
) -> Result:
    """Classify why runs failed, by their output.

    Parameters
    ----------
    outputs
        Files with the output of failed runs, or folders of files.
    text
        Output of failed runs as text: one text, or several.
    events
        Return the events in the outputs, instead of the verdicts.
    suggest
        Return the most frequent lines that no signature explains, of outputs or of traces.
    taxonomies
        Add the categories of other studies: acme, llama3, meta_rsc.

    Returns
    -------
    Result
        One row per output: file (``text 1`` and so on for text), reason, tiers, fine, rule,
        line_number, line (masked), level, confidence (0 to 1), alternatives. With `events` one row
        per event: file, and the fields of :class:`philly_analysis.failures.events.Event`, masked.
        With `suggest` the table of :func:`philly_analysis.failures.suggest.count_lines`.

    Raises
    ------
    InputError
        A file is missing or cannot be opened, or a folder is a trace and `suggest` is false.
    """
    paths = [Path(outputs)] if isinstance(outputs, str | Path) else list(map(Path, outputs))
    texts = [text] if isinstance(text, str) else list(text)
    if not paths and not texts:
        raise InputError("there is no output: name files or folders, or give text.")
    if suggest:
        return _suggest(paths, texts)
    named, read = tee(_read(paths, texts))
    verdicts = classify_outputs(output for _, output in read)
    failures = list(zip((name for name, _ in named), verdicts, strict=True))
    matched = sum(bool(f.rule) for _, f in failures)
    return Result(
        name="classify",
        table=_events_table(failures) if events else _verdicts_table(failures, taxonomies),
        sentences=[] if events else sentences(failures),
        facts=(
            Fact("files", len(failures), "outputs read"),
            Fact("matched", matched, "outputs that show how the attempt ended"),
        ),
    )


def _verdicts_table(failures: list[tuple[str, Failure]], taxonomies: bool) -> "pd.DataFrame":
    import pandas as pd

    rows = [
        (
            *(file, f.reason, "+".join(f.tiers), f.fine, f.rule, f.line_number or None),
            *(mask(f.line), f.level, round(f.confidence, 2), ", ".join(f.alternatives)),
        )
        for file, f in failures
    ]
    columns = ["file", "reason", "tiers", "fine", "rule", "line_number"]
    columns += ["line", "level", "confidence", "alternatives"]
    table = pd.DataFrame(rows, columns=columns).astype({"line_number": "Int64"})
    if not taxonomies:
        return table
    return table.join(pd.DataFrame([categories_of(f.reason, f.fine) for _, f in failures]))


def _events_table(failures: list[tuple[str, Failure]]) -> "pd.DataFrame":
    import pandas as pd

    columns = ["file", *(field.name for field in fields(Event))]
    rows = [
        {"file": file} | asdict(event) | {"line": mask(event.line)}
        for file, failure in failures
        for event in failure.events
    ]
    return pd.DataFrame(rows, columns=columns)


def _suggest(paths: list[Path], texts: list[str]) -> Result:
    unexplained: list[tuple[str, str]] = []
    traces = [path for path in paths if is_trace(path)]
    for path in traces:
        with Trace(path) as trace:
            unexplained += unexplained_of(trace)
    files = [path for path in paths if path not in traces]
    outputs, copies = tee(output for _, output in _read(files, texts))
    for output, failure in zip(outputs, classify_outputs(copies), strict=True):
        if failure.level in ("general rule", "guess"):
            unexplained.append((failure.reason, mask(failure.line)))
        elif failure.level == "none":
            unexplained.append((failure.reason, mask(last_lines(decode(output.text)))))
    return count_lines(unexplained)


def _read(paths: list[Path], texts: list[str]) -> Iterator[tuple[str, Output]]:
    """Yield name and content of each file, of each folder's files by name, and of each text."""
    for path in paths:
        if is_trace(path):
            raise InputError(
                f"{path} is a trace: give the output of failed runs, or suggest=True for the lines "
                "of the trace that no signature explains"
            )
        files = sorted(p for p in path.iterdir() if p.is_file()) if path.is_dir() else [path]
        if not files:
            raise InputError(f"{path} has no files: give the output of failed runs.")
        for file in files:
            yield str(file), read_output(file)
    for number, text in enumerate(texts, 1):
        yield f"text {number}", Output(text.encode("utf-8", "replace"))
