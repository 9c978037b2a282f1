"""Check figures for print: embedded fonts, widths, marks on cut intervals."""

import re
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from philly_analysis.results import Paired, Result
from philly_analysis.results.figures import Panel, forest_panels

ROWS = [
    ("mine", Paired(-20.0, -30.0, -10.0, 5), "C0"),
    ("wide", Paired(10.0, -99.0, 9000.0, 3), "C1"),
]


def result() -> Result:
    return Result(
        "shown",
        pd.DataFrame(),
        draw=lambda _: forest_panels([Panel("Load 0.9", ROWS)], "change, %"),
    )


@pytest.mark.parametrize(("style", "inches"), [("column", 3.35), ("text", 7.0)])
def test_pdfs_embed_truetype_at_the_width_of_columns(
    tmp_path: Path, style: str, inches: float
) -> None:
    pdf = result().save(tmp_path / "figure.pdf", style=style).read_bytes()  # type: ignore[arg-type]
    streams = [zlib.decompress(s) for s in re.findall(rb"stream\r?\n(x.*?)endstream", pdf, re.S)]
    text = pdf + b"".join(streams)
    assert b"/FontFile2" in text and b"/Type3" not in text
    width = float(re.search(rb"/MediaBox \[ 0 0 ([\d.]+)", pdf)[1])  # type: ignore[index]
    assert width == pytest.approx(72 * inches, rel=0.02)


def test_cut_intervals_have_an_arrow_head() -> None:
    [ax] = forest_panels([Panel("Load 0.9", ROWS)], "change, %").axes
    heads = [line for line in ax.lines if line.get_marker() in ("<", ">")]
    marks = [(head.get_marker(), np.asarray(head.get_ydata()).tolist()) for head in heads]
    assert marks == [(">", [0])]
