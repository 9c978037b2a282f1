"""Render pages from templates, and write them with their figures and tables."""

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, partial
from operator import attrgetter
from pathlib import Path

import jinja2
import pandas as pd
from markupsafe import Markup

from philly_analysis.ingest import in_words
from philly_analysis.report.page import PAGE, replacing
from philly_analysis.report.sections import Card, Chapter
from philly_analysis.report.table_rows import cell, clipped, kinds, row_blocks
from philly_analysis.results import bind_units, number, reproducible, write_csv
from philly_analysis.trace import MACROS, with_dependencies

_IN_TAGS = re.compile(r">[^<>]+<")
"""A text of a figure, between two tags."""
_SCRIPT = "".join(
    (Path(__file__).parent / "templates" / name).read_text("utf-8")
    for name in ("tables.js", "page.js")
)


def results_page(
    title: str,
    lede: str,
    chapters: Sequence[Chapter],
    out: str | Path,
    *,
    cards: Sequence[Card],
    closing: pd.DataFrame | None = None,
    closing_title: str = "Figure by figure",
) -> Path:
    """Write a page of results that belong to no single trace: a comparison, an experiment.

    Parameters
    ----------
    lede
        What was done, below the cards.
    out
        Folder of the page, its figures and tables; an earlier page there is replaced.
    cards
        Answers at the top of the page.
    closing
        Table at the end of the page; None: none.
    closing_title
        Title of that table.

    Returns
    -------
    Path
        The page.
    """
    front = [Chapter(title, tuple(card.section for card in cards if card.section))]
    every = [*front, *chapters]
    synthetic = [s.result.synthetic for c in every for s in c.sections]
    text = template("results.html").render(
        title=title,
        lede=lede,
        cards=cards,
        front=front,
        chapters=chapters,
        synthetic="all" if all(synthetic) else "some" if any(synthetic) else "",
        tables_open=True,
        closing=closing,
        closing_title=closing_title,
        **contents_of(every),
        made_at=now(),
    )
    return write_page(Path(out), every, text)


def write_page(
    out: Path, chapters: Iterable[Chapter], text: str, others: Mapping[str, str] | None = None
) -> Path:
    """Write a page, its figures and tables, and other pages by name; return the page."""
    with replacing(out) as folder:
        (folder / "figures").mkdir()
        (folder / "tables").mkdir()
        for part in (s for c in chapters for s in c.sections):
            if part.svg:
                (folder / "figures" / f"{part.name}.svg").write_text(part.svg, "utf-8")
            write_csv(part.result.table, folder / part.csv)
        for name, page in {PAGE: text, **(others or {})}.items():
            (folder / name).write_text(page, "utf-8")
    return out / PAGE


def template(name: str, words: Mapping[str, str] | None = None) -> jinja2.Template:
    """Return a template, with the filters and globals that pages use.

    Parameters
    ----------
    words
        Terms of a source that replace the findings' terms in texts and figures:
        ``{"virtual cluster": "partition"}``. Text of logs and code are left as they are.
    """
    return _environment(tuple((words or {}).items())).get_template(name)


@cache
def _environment(words: tuple[tuple[str, str], ...]) -> jinja2.Environment:
    """Return the environment of a source's words, which keeps its compiled templates."""
    replaced = partial(in_words, dict(words))
    env = jinja2.Environment(
        loader=jinja2.PackageLoader("philly_analysis.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: bind_units(replaced(value)) if _is_text(value) else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters |= {"number": number, "signed": lambda v: number(v, signed=True)}
    env.filters |= {"cell": cell, "kinds": kinds, "clipped": clipped, "plain": _plain}
    env.filters |= {"exact": lambda v: reproducible(v) if isinstance(v, float) else v}
    env.filters |= {
        "figure": lambda svg: Markup(_IN_TAGS.sub(lambda m: replaced(m[0]), svg))  # noqa: S704 - our own figure
    }
    env.globals |= {"script": _SCRIPT, "policy": _policy}
    return env


def contents_of(chapters: Sequence[Chapter]) -> dict[str, object]:
    """Return the rows that a page embeds, and the SQL files that its findings read, each once."""
    sections = [s for c in chapters for s in c.sections]
    reads = dict.fromkeys(name for s in sections for name in s.result.reads)
    relations = sorted(with_dependencies(tuple(reads)), key=attrgetter("name"))
    return {"relations": relations, "macros": MACROS, "blocks": row_blocks(sections)}


def data_uri(text: str) -> str:
    """Return CSV text as the address of a link."""
    return "data:text/csv;base64," + base64.b64encode(text.encode()).decode()


def now() -> str:
    """Return the current time, in UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def _is_text(value: object) -> bool:
    """Return whether a value is text of ours, and not HTML: code, figures, text of logs."""
    return isinstance(value, str) and not hasattr(value, "__html__")


def _plain(texts: Iterable[str]) -> str:
    """Join texts for an attribute, without the tags of markup."""
    return " ".join(t.striptags() if isinstance(t, Markup) else t for t in texts)


def _policy(style: str) -> str:
    """Return a Content Security Policy that allows only our style and our script."""
    of_style, of_script = (
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (style, _SCRIPT)
    )
    return (
        f"default-src 'none'; img-src data:; style-src 'sha256-{of_style}'; "
        f"script-src 'sha256-{of_script}'; base-uri 'none'; form-action 'none'"
    )
