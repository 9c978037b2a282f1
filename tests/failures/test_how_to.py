"""Check the page on failed output: its commands run, and its signature is valid."""

import re
import tomllib
from pathlib import Path

import pytest

from tests.support.command_line import run

PAGE = (Path(__file__).parents[2] / "docs" / "failed-output.md").read_text("utf-8")


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_commands_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    line = "shardd: gave up on shard 17 of /data/x\n"
    for name in ("job.log", "other.log"):
        (tmp_path / name).write_text(line)
    commands = [c for block in _blocks("shell") for c in block.splitlines() if "my-trace" not in c]
    assert len(commands) == 2
    for command in commands:
        printed = run(*command.split()[1:], "--json")
        assert "shardd: gave up on shard" in printed or '"none"' in printed


def test_the_signature_of_the_page_matches_its_example() -> None:
    [block] = _blocks("toml")
    [rule] = tomllib.loads(block)["signature"]
    assert re.search(rule["pattern"], rule["example"], re.IGNORECASE)
    assert all(hint in rule["example"].lower() for hint in rule["hints"])
