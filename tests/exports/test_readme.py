"""Compare the page on other simulators with the formats: programs, commits, commands."""

from pathlib import Path

import philly_analysis
from philly_analysis.exports.writer import FORMATS

PAGE = (Path(philly_analysis.__file__).parent / "exports" / "README.md").read_text("utf-8")


def test_the_page_lists_every_dialect() -> None:
    columns = ["format", "dialect", "reader", "tried_with", "carries"]
    listed = philly_analysis.formats()[columns].replace("", "–").to_numpy(str).tolist()
    rows = [f"| {' | '.join(row)} |" for row in listed]
    assert [row for row in rows if row not in PAGE] == []
    head = PAGE.index("| format | dialect |")
    assert PAGE[head:].split("\n\n")[0].count("\n") == len(rows) + 1


def test_the_page_cites_the_commits_of_the_formats() -> None:
    tried = [d.source for f in FORMATS.values() for d in f.dialects if d.source]
    runs = PAGE[PAGE.index("| program, commit |") :].split("\n\n")[0].splitlines()[2:]
    cited = {
        row.split("|")[1].split(",")[0].split()[-1] for row in runs if row.split("|")[1].strip()
    }
    assert cited and all(any(commit in source for source in tried) for commit in cited)


def test_commands_read_the_export() -> None:
    for program in (d for f in FORMATS.values() for d in f.dialects):
        assert bool(program.source) == bool(program.needs)
        if program.source:
            assert "$$OUT" in program.command or 'environ["OUT"]' in program.command
