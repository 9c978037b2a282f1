"""Summarise a trace: the answers of the first screen, and all facts, for people and programs."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from philly_analysis.errors import OutputError
from philly_analysis.ingest import in_words, words_of
from philly_analysis.parallel import ExecutorLike, open_executor
from philly_analysis.report.cards import answered
from philly_analysis.report.computing import compute_each
from philly_analysis.report.findings import ANALYSES, answerable
from philly_analysis.report.week_change import WeekChange, week_changes
from philly_analysis.results import (
    Facts,
    Result,
    Verdict,
    json_value,
    printable,
    reproducible,
    save_text,
)
from philly_analysis.study import RunPolicy
from philly_analysis.trace import Manifest, TraceLike, open_trace

SCHEMA_VERSION = 1
"""Version of the JSON document; it changes when a key is removed or changes its meaning."""
SCHEMA = Path(__file__).with_name("summary.schema.json")
"""JSON schema of the document."""

_MARKDOWN = re.compile(r"([\\`*_\[\]<>|#&~])")


@dataclass(frozen=True)
class Summary:
    """The answers and facts of a trace.

    ``str()`` is a text for a terminal or a mail; a notebook shows the Markdown.

    Attributes
    ----------
    manifest
        Name, source and kind of the trace.
    period
        First submission and end of the log, UTC; empty: unknown.
    results
        Every finding that the trace answers, by name.
    """

    manifest: Manifest
    period: tuple[pd.Timestamp, ...]
    results: Mapping[str, Result]

    @property
    def cards(self) -> list[tuple[str, Verdict]]:
        """The questions that the trace answers, with the answers in words."""
        shown = (self.results[name] for name in answered(self.results))
        return [(r.question, r.verdict) for r in shown if r.verdict is not None]

    @property
    def facts(self) -> pd.DataFrame:
        """All facts: finding, fact, value, low, high (95 % interval), unit, meaning."""
        rows = [
            (name, *row)
            for name, result in sorted(self.results.items())
            for row in _with_intervals(result.facts)
        ]
        columns = ["finding", "fact", "value", "low", "high", "unit", "meaning"]
        return pd.DataFrame(rows, columns=columns)

    @property
    def weeks(self) -> list[WeekChange]:
        """Numbers of the last whole calendar week beside the week before; empty: too short."""
        return week_changes(self.results, self.period)

    @property
    def title(self) -> str:
        """Name and period of the trace, and whether it is synthetic."""
        days = " to ".join(f"{moment:%Y-%m-%d}" for moment in self.period)
        name = f"{self.manifest.name}, {days}" if days else self.manifest.name
        return f"{name} (synthetic data)" if self.manifest.synthetic else name

    def __str__(self) -> str:
        lines = [self.title, *self._warnings()]
        for question, verdict in self.cards:
            lines += ["", question, *(f"  {line}" for line in _lines(verdict))]
        if self.weeks:
            lines += ["", self._week_title(), *(f"  {week}" for week in self.weeks)]
        for name in ("overview", "worst_offenders"):
            if name in self.results:
                lines += ["", self.results[name].question]
                lines += [f"  {sentence}" for sentence in self.results[name].sentences]
        return self._printed("\n".join(lines))

    def to_markdown(self) -> str:
        """Return the answers as Markdown, e.g. for a chat; names of the log are escaped."""
        lines = [f"## {_escaped(self.title)}", ""]
        lines += [f"> {_escaped(warning)}\n" for warning in self._warnings()]
        for question, verdict in self.cards:
            headline, *others = map(_escaped, _lines(verdict))
            lines += [f"**{_escaped(question)}** {headline}", *(f"- {o}" for o in others), ""]
        if self.weeks:
            lines += [f"**{_escaped(self._week_title())}**", ""]
            lines += [*(f"- {_escaped(str(week))}" for week in self.weeks), ""]
        for name in ("overview", "worst_offenders"):
            if name in self.results:
                sentences = " ".join(self.results[name].sentences)
                lines += [f"**{_escaped(self.results[name].question)}** {_escaped(sentences)}", ""]
        return self._printed("\n".join(lines).strip() + "\n")

    _repr_markdown_ = to_markdown

    def to_dict(self) -> dict[str, Any]:
        """Return the document that :meth:`to_json` writes: plain values by name."""
        facts = self.facts.astype(object).to_dict("records")
        return {
            "schema": f"philly-summary-{SCHEMA_VERSION}",
            "trace": {
                "name": self.manifest.name,
                "source": self.manifest.source,
                "synthetic": self.manifest.synthetic,
                "began_at": self.period[0].isoformat() if self.period else None,
                "ended_at": self.period[1].isoformat() if self.period else None,
                "notes": list(self.manifest.notes),
            },
            "warnings": self._warnings(),
            "cards": [
                {
                    "question": question,
                    "answer": verdict.label,
                    "number": verdict.number,
                    "noun": verdict.noun,
                    "interval": verdict.interval,
                    "cost": verdict.cost,
                    "trend": verdict.trend,
                    "advice": verdict.advice,
                }
                for question, verdict in self.cards
            ],
            "weeks": [
                {
                    "measure": week.measure,
                    "unit": week.unit,
                    "monday": f"{week.monday:%Y-%m-%d}",
                    "last": json_value(week.last),
                    "before": json_value(week.before),
                }
                for week in self.weeks
            ],
            "facts": [{k: json_value(v) for k, v in fact.items()} for fact in facts],
        }

    def to_json(self) -> str:
        """Return one JSON document with all answers and facts; its schema is shipped."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def to_openmetrics(self) -> str:
        """Return the numbers as OpenMetrics, e.g. for the textfile collector of node_exporter.

        The text is also valid in the older format of Prometheus, which that collector reads. Each
        number is a gauge ``philly_<finding>_<fact>`` in the unit at the end of its name, with
        the labels ``trace`` and ``synthetic``. Ends of intervals are gauges of their own.
        """
        synthetic = "true" if self.manifest.synthetic else "false"
        labels = f'trace="{_quoted(self.manifest.name)}",synthetic="{synthetic}"'
        lines: list[str] = []
        for name, result in sorted(self.results.items()):
            for fact in result.facts:
                if isinstance(fact.value, int | float) and not isinstance(fact.value, bool):
                    metric = _metric(f"philly_{name}_{fact.name}")
                    meaning = _quoted(fact.meaning.replace('"', "'"))
                    lines += [
                        f"# TYPE {metric} gauge",
                        f"# HELP {metric} {meaning}",
                        f"{metric}{{{labels}}} {reproducible(float(fact.value))!r}",
                    ]
        if self.cards:
            lines += ["# TYPE philly_answer gauge", "# HELP philly_answer Answer of a question."]
        for question, verdict in self.cards:
            answer = f'question="{_quoted(question)}",answer="{_quoted(verdict.label)}"'
            lines.append(f"philly_answer{{{labels},{answer}}} 1")
        return "\n".join([*lines, "# EOF", ""])

    def save(self, path: str | Path) -> Path:
        """Write the summary atomically, in the format of the suffix, and return the path.

        The suffix is ``.json``, ``.md``, ``.prom`` (OpenMetrics) or ``.txt``.

        Raises
        ------
        OutputError
            The suffix is another one, or the file cannot be written.
        """
        path = Path(path)
        if path.suffix not in _FORMS:
            raise OutputError(f"{path}: a summary is one of {', '.join(_FORMS)}.")
        save_text(_FORMS[path.suffix](self), path)
        return path

    def _printed(self, text: str) -> str:
        """Return a text in the words of the trace's source, without control characters."""
        return printable(in_words(words_of(self.manifest.source), text), lines=True)

    def _week_title(self) -> str:
        monday = self.weeks[0].monday
        return f"Week of {monday:%Y-%m-%d} to {monday + pd.Timedelta(days=6):%Y-%m-%d}"

    def _warnings(self) -> list[str]:
        return [warning for result in self.results.values() for warning in result.warnings]


def summary(
    trace: TraceLike,
    *,
    run_policy: RunPolicy | str | None = None,
    executor: ExecutorLike = None,
) -> Summary:
    """Summarise a trace: see :func:`philly_analysis.summary`."""
    with (
        open_executor(executor) as workers,
        open_trace(trace, run_policy, executor=workers) as source,
    ):
        results = {r.name: r for r in compute_each(source, answerable(source), workers)}
        began_at, _, ended_at = source.answer("snapshot").fetchall()[0]
        period = () if began_at is None else (pd.Timestamp(began_at), pd.Timestamp(ended_at))
        ordered = {name: results[name] for name in ANALYSES if name in results}
        return Summary(source.manifest, period, ordered)


def _lines(verdict: Verdict) -> list[str]:
    """Return the headline of an answer, and what is said about it."""
    headline = f"{verdict} ({verdict.interval})" if verdict.interval else str(verdict)
    return [headline, *filter(None, (verdict.cost, verdict.trend, verdict.advice))]


def _with_intervals(facts: Facts) -> Iterator[tuple[object, ...]]:
    """Yield name, value, interval, unit and meaning of each fact that is no end of an interval."""
    values = dict(facts.items())
    low_of, high_of = (
        {re.sub(f"_{end}(?=_|$)", "", name): name for name in values if f"_{end}" in name}
        for end in ("low", "high")
    )
    inside = values.keys() & low_of.keys() & high_of.keys()
    ends = {bound for name in inside for bound in (low_of[name], high_of[name])}
    for fact in facts:
        if fact.name not in ends:
            low, high = (
                (values[low_of[fact.name]], values[high_of[fact.name]])
                if fact.name in inside
                else (None, None)
            )
            yield fact.name, fact.value, low, high, fact.unit, fact.meaning


def _escaped(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", text)


def _metric(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_]", "_", name)


def _quoted(text: str) -> str:
    """Return a text as a label's value or a help text of OpenMetrics may have it."""
    text = printable(text, lines=True)
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


_FORMS: dict[str, Callable[[Summary], str]] = {
    ".json": Summary.to_json,
    ".md": Summary.to_markdown,
    ".prom": Summary.to_openmetrics,
    ".txt": str,
}
"""What :meth:`Summary.save` writes, by suffix."""
