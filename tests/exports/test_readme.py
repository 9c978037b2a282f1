"""The page on other simulators names the programs that the formats name, at the same commits."""

from pathlib import Path

import philly_analysis
from philly_analysis.exports import FORMATS

PAGE = (Path(philly_analysis.__file__).parent / "exports" / "README.md").read_text("utf-8")


def test_every_dialect_is_on_the_page_as_the_package_tells_of_it() -> None:
    columns = ["format", "dialect", "reader", "tried_with", "carries"]
    told = philly_analysis.formats()[columns].replace("", "–").to_numpy(str).tolist()
    rows = [f"| {' | '.join(row)} |" for row in told]
    assert [row for row in rows if row not in PAGE] == []
    head = PAGE.index("| format | dialect |")
    assert PAGE[head:].split("\n\n")[0].count("\n") == len(rows) + 1


def test_what_was_run_was_run_at_the_commits_of_the_side_cars() -> None:
    tried = [d.program.source for f in FORMATS.values() for d in f.dialects if d.program.source]
    runs = PAGE[PAGE.index("| program, commit |") :].split("\n\n")[0].splitlines()[2:]
    cited = {
        row.split("|")[1].split(",")[0].split()[-1] for row in runs if row.split("|")[1].strip()
    }
    assert cited and all(any(commit in source for source in tried) for commit in cited)


def test_the_commands_name_what_a_shell_can_fill_in() -> None:
    for program in (d.program for f in FORMATS.values() for d in f.dialects):
        assert bool(program.source) == bool(program.needs)
        if program.source:
            assert "$$OUT" in program.command or 'environ["OUT"]' in program.command
