"""The finding other_months quotes CALIBRATION.md, and does not attribute it to the trace."""

import re
from pathlib import Path

from philly_analysis import analyze
from philly_analysis.models import library
from tests.support.figure_layout import overlaps
from tests.support.small_traces import paper_trace

CALIBRATION = (Path(library.__file__).parent / "shipped" / "CALIBRATION.md").read_text("utf-8")


def test_numbers_are_those_of_the_file(tmp_path: Path) -> None:
    result = analyze(paper_trace(tmp_path / "paper"), "other_months")
    scores, of_every, without = (
        CALIBRATION.partition(f"\n## {name}\n")[2].partition("\n## ")[0].splitlines()
        for name in ("Other months", "Other months of all lists", "Other months without the site")
    )
    assert len(result.table) == 5 * 5, "ways of drawing, groups of statistics"
    for row in result.table.to_dict("records"):
        named = f"| {row['draws']} | {row['statistics']} |"
        [line] = [line for line in scores if line.startswith(named)]
        numbers = [float(n) for n in re.findall(r"[\d.]+", line.removeprefix(named))]
        assert numbers == [row[c] for c in result.table.columns[2:]]
    waits = [line for line in CALIBRATION.splitlines() if "| yes |" in line or "| no |" in line]
    inside = sum("| fifo |" in line and "| yes |" in line for line in waits)
    assert f"{inside} of {len(waits) // 3} windows under fifo" in result.sentences[-1]
    assert not result.synthetic
    assert "not on this trace" in result.caveats[0]
    there, made_alike = result.caveats[0].split("without the site")
    for lines, sentence in ((of_every, there), (without, made_alike)):
        rows = [line for line in lines if line.startswith("| workload model |")]
        assert len(rows) == 5
        for line in rows:
            _, _, statistics, _, share, *_ = (cell.strip() for cell in line.split("|"))
            assert f"{statistics} {share}" in sentence
    assert overlaps(result.plot()) == []
