"""Generate the reference, the gallery and the pictures from the package and the sample."""

import shutil
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd

import philly_analysis
from docs import architecture, measured, pictures
from philly_analysis import Trace, formats, models, policies, sources, tables
from philly_analysis.atlas.catalogue import CLAIMS
from philly_analysis.report.computing import compute, draw_svg
from philly_analysis.report.findings import ANALYSES, CHAPTERS, lacking
from philly_analysis.results import Result
from philly_analysis.simulator.policies import POLICIES
from philly_analysis.study import numbers
from philly_analysis.trace import TABLES
from philly_analysis.trace.relations import relations

_ADDED = (
    "The sample lacks eligible times, time limits and summaries of attempts. For this page they "
    "were added."
)


def write(folder: Path, trace: Path) -> None:
    """Write every page into a folder, which is emptied first.

    Parameters
    ----------
    folder
        Output folder.
    trace
        The ingested sample; the pages of findings show its results.

    Raises
    ------
    TraceError
        The sample was not ingested (``make reports`` ingests it).
    """
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("findings", "pictures", "pages"):
        (folder / name).mkdir(parents=True)
    (folder / "architecture.svg").write_text(architecture.svg(), "utf-8")
    pages = {
        "tables.md": "\n".join(_tables()),
        "relations.md": "\n".join(_relations()),
        "cli.md": _command_line(),
        "python.md": "\n".join(_python()),
        "choices.md": "\n".join(_choices()),
        "claims.md": "\n".join(_claims()),
        "published.md": "\n".join(_published()),
        "costs.md": "\n".join(measured.costs()),
    }
    drawn: set[str] = set()
    with Trace(trace) as sample, Trace(_with_limits(sample)) as limited:
        pictures.write(folder / "pictures", sample)
        for name in ANALYSES:
            result = None if lacking(sample, name) else compute(sample, name)
            if result is None and not lacking(limited, name):
                computed = compute(limited, name)
                result = replace(computed, synthetic=True, caveats=(*computed.caveats, _ADDED))
            if result is not None and (svg := draw_svg(result)[1]):
                (folder / "findings" / f"{name}.svg").write_text(svg, "utf-8")
                drawn.add(name)
            page = _finding(name, result, drawn=name in drawn)
            pages[f"findings/{name}.md"] = "\n".join(page)
    pages["findings/index.md"] = "\n".join(_gallery(drawn))
    for name, text in pages.items():
        (folder / name).write_text(text + "\n", "utf-8")


def _with_limits(sample: Trace) -> dict[str, pd.DataFrame]:
    """Return the sample's jobs and attempts with values that only other sources record."""
    queries = {
        "jobs": """
            select * exclude (code) replace (
                submitted_at + to_seconds(if(code % 8 = 0, code % 7200, 0)) as eligible_at,
                3600.0 * [4, 12, 24, 24, 72, 168][1 + code % 6] as time_limit_s
            )
            from (select *, (hash(job_id) % 1000000)::bigint as code from jobs)""",
        "attempts": "select * from attempts",
        "summaries": "select job_id, attempt, gpus, mean_pct as util_pct from attempt_use",
    }
    return {name: sample.sql(query).df() for name, query in queries.items()}


def table(rows: Iterable[Iterable[object]], *columns: str) -> Iterator[str]:
    """Yield a Markdown table line by line; cells are text, not markup."""
    yield ""
    yield f"| {' | '.join(columns)} |"
    yield f"| {' | '.join('---' for _ in columns)} |"
    for row in rows:
        yield f"| {' | '.join(map(cell, row))} |"
    yield ""


def cell(value: object) -> str:
    """Return a value as one line of text without markup except code; empty for missing values."""
    if value is None or value is pd.NA or value != value:
        return ""
    text = f"{value:g}" if isinstance(value, float) else str(value)
    text = text.replace("``", "`")
    for sign in "\\<>[]*_|$":
        text = text.replace(sign, f"\\{sign}") if "`" not in text else text
    return " ".join(text.replace("|", r"\|" if "`" in text else "|").split())


def _frame(frame: pd.DataFrame) -> Iterator[str]:
    return table(frame.itertuples(index=False), *map(str, frame.columns))


def _tables() -> Iterator[str]:
    yield "# Tables of a trace\n"
    yield "A trace is a folder of Parquet files; `manifest.json` names the files of each table."
    yield "Times are UTC. `philly tables` prints the same; `philly tables TRACE` prints the tables"
    yield "of a trace.\n"
    columns = tables()
    for name, one in TABLES.items():
        yield f"## `{name}`\n"
        yield f"One row is {one.row}. Key: {', '.join(f'`{c}`' for c in one.key)}.\n"
        ours = columns[columns["table"] == name].drop(columns="table")
        ours["column"] = [f"`{column}`" for column in ours["column"]]
        yield from _frame(ours)


def _relations() -> Iterator[str]:
    yield "# Relations derived from the tables\n"
    yield "Each is one SELECT in a file of its name. Every trace has all of them: in"
    yield "`trace.sql(…)`, as `trace.<name>` and in `philly query`. A materialized relation is"
    yield "computed once per trace.\n"
    for name, relation in sorted(relations().items()):
        yield f"## `{name}`\n"
        cost = " Materialized." if relation.materialized else ""
        yield f"{relation.question} {relation.row}{cost}\n"
        columns = ((f"`{column}`", meaning) for column, meaning in relation.columns.items())
        yield from table(columns, "column", "meaning")
        reads = ", ".join(f"`{one}`" for one in sorted(relation.reads))
        yield f"Reads {reads}.\n" if reads else ""


def _paragraphs(text: str) -> list[str]:
    return [part.replace("``", "`") for part in text.split("\n\n")]


def _gallery(drawn: Collection[str]) -> Iterator[str]:
    """Yield the page with the pictures of findings, models and what-ifs."""
    yield "# Gallery\n"
    yield "Each picture is linked to its page. Findings are of the bundled **synthetic** sample, in"
    yield "the order of the report; `analyze(trace, NAME)` draws the same of your cluster.\n"
    for chapter, analyses in CHAPTERS.items():
        yield f"## {chapter}\n"
        shown = (
            (f"{a.name}.md", f"{a.name}.svg" if a.name in drawn else "", a.question)
            for a in analyses
        )
        yield from _cards(shown)
        yield "```{toctree}\n:hidden:\n" + "\n".join(a.name for a in analyses) + "\n```\n"
    yield "## Traces, models, what-ifs, statistics\n"
    yield from _cards(
        (f"../../{page}.md", f"../pictures/{name}.svg", caption)
        for name, (caption, page) in pictures.CAPTIONS.items()
    )


def _cards(shown: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    """Yield a grid of cards from their page, picture (empty: none) and caption."""
    yield ":::::{container} gallery pictures"
    for page, picture, caption in shown:
        image = f"[![{cell(caption)}]({picture})]({page})\n\n" if picture else ""
        yield f"::::{{container}} card\n{image}[{cell(caption)}]({page})\n::::"
    yield ":::::\n"


def _finding(name: str, result: Result | None, *, drawn: bool) -> Iterator[str]:
    analysis = ANALYSES[name]
    what, *misleads = _paragraphs(analysis.description)
    yield f"# {analysis.question}\n"
    if result is None:
        yield "The bundled sample lacks the data that this finding needs.\n"
        files = [r for n, r in relations().items() if n.startswith(name)]
    else:
        yield from _shown(name, result, drawn=drawn)
        files = [relations()[n] for n in result.reads if n in relations()]
    yield "## Definition\n"
    yield f"{what} {(analysis.compute.__doc__ or '').strip().splitlines()[0]}\n"
    yield f"```python\nanalyze(trace, {name!r})\n```\n"
    if analysis.needs:
        yield f"It needs {', '.join(f'`{need}`' for need in analysis.needs)}.\n"
    if misleads:
        yield "## What can mislead\n"
        yield "\n\n".join(misleads) + "\n"
    printed = [c for (of, _), c in numbers().items() if of == name]
    if printed:
        yield "## What the study printed\n"
        yield from table(
            ((c.what, c.published, c.unit, c.source, c.reason) for c in printed),
            *("what", "printed", "unit", "source", "why ours may differ"),
        )
    if result is not None and result.facts:
        yield "## Its facts\n"
        yield from table(
            ((f"`{f.name}`", f.text, f.meaning) for f in result.facts),
            *("fact", "value", "meaning"),
        )
    if files:
        yield "## How it is computed\n"
        yield "These relations and those that they read ([all relations](../relations.md)).\n"
    for relation in files:
        summary = f"<code>{relation.name}</code>: {cell(relation.question)}"
        yield f"<details>\n<summary>{summary}</summary>\n"
        yield f"```sql\n{relation.sql.strip()}\n```\n\n</details>\n"


def _shown(name: str, result: Result, *, drawn: bool) -> Iterator[str]:
    """Yield what a finding shows of the sample: first sentence, picture, other sentences."""
    first, *others = map(cell, (*result.sentences, *result.caveats, ""))
    yield f":::{{container}} finding\n{first}\n:::\n"
    if drawn:
        yield f"```{{image}} {name}.svg\n:alt: {first}\n```\n"
    yield from (f"- {text}" for text in others if text)
    yield "\n*The numbers are of the bundled sample, which is **synthetic**: it was not recorded on"
    yield "a cluster.*\n"


def _command_line() -> str:
    """Return the reference of the command line, as typer prints it."""
    command = [
        sys.executable,
        "-m",
        "typer",
        "philly_analysis.cli.commands",
        "utils",
        "docs",
        "--name",
        "philly",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - ours
    return done.stdout.replace("# `philly`", "# Command line", 1)


def _python() -> Iterator[str]:
    yield "# Python\n"
    yield "Each verb of the command line is a function with the same name, options and defaults."
    yield "\n```{eval-rst}"
    for name in philly_analysis.__all__:
        kind = "class" if isinstance(getattr(philly_analysis, name), type) else "function"
        yield f".. auto{kind}:: philly_analysis.{name}"
        if kind == "class":
            yield "   :members:"
        yield ""
    for name in ("results.Facts", "distributions.distribution.Distribution"):
        yield f".. autoclass:: philly_analysis.{name}\n   :members:\n"
    yield "```"


def _choices() -> Iterator[str]:
    yield "# Sources, models, formats and policies\n"
    yield "## Sources\n"
    yield from _frame(sources())
    yield "## Models\n"
    yield from _frame(models())
    yield "## Formats\n"
    yield from _frame(formats())
    yield "## Policies\n"
    yield from _frame(policies())
    for name, policy in POLICIES.items():
        yield f"### `{name}`\n"
        yield "\n\n".join(_paragraphs((policy.__doc__ or "").strip())[:2]) + "\n"
        yield from _frame(policies(name))


def _claims() -> Iterator[str]:
    yield "# Claims of the atlas\n"
    yield "`philly atlas` tests these claims on every cluster. Each answer is *holds*, *is"
    yield "reversed*, *is practically absent* or *cannot be said*, with an effect and a 95 %"
    yield "interval.\n"
    for claim in CLAIMS.values():
        yield f"## {claim.title}\n"
        kind = "an effect" if claim.of_effect else "a level"
        yield f"A claim of {kind}, which holds {claim.rule}. {cell(claim.question)}\n"
        if claim.margin:
            yield f"Practically absent from {claim.absence}: {cell(claim.margin.reason)}\n"
        yield f"The study: {cell(claim.published.text)} ({cell(claim.published.source)}).\n"
        yield f"{cell(claim.caveat)}\n"
        yield f"```sql\n{relations()[claim.relation].sql.strip()}\n```\n"


def _published() -> Iterator[str]:
    yield "# What the study printed\n"
    yield "Each number is listed with the finding and the fact that measure the same quantity.\n"
    yield from table(
        (
            (f"[`{of}`](findings/{of}.md)", f"`{fact}`", c.what, c.published, c.unit, c.source)
            for (of, fact), c in numbers().items()
        ),
        *("finding", "fact", "what", "printed", "unit", "source"),
    )
