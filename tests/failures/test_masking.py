"""Check that names and secrets are masked before anything is stored."""

import json
import re
import tomllib
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from philly_analysis import ingest
from philly_analysis.failures import mask
from philly_analysis.failures.masking import masks
from philly_analysis.ingest.sql import _MASKABLE
from tests.hostile.documents import SACCT

_CASES = tomllib.loads(Path(__file__).with_name("masking.toml").read_text("utf-8"))
_PARTS = {name: part.replace("|", "") for name, part in _CASES["parts"].items()}
SECRETS, NAMES = (
    {
        kind: (line, secret.replace("|", "").format(**_PARTS))
        for kind, (line, secret) in _CASES[table].items()
    }
    for table in ("secrets", "names")
)
ALL = SECRETS | NAMES
LINES = [line.format(secret) for line, secret in ALL.values()]


def left_of(secret: str, text: str) -> list[str]:
    """Pieces of a secret that a text still holds."""
    least = min(8, len(secret))
    return [p for i in range(len(secret) - least + 1) if (p := secret[i : i + least]) in text]


def test_sixty_kinds_are_known() -> None:
    assert len(SECRETS) >= 60
    assert len({m.kind for m in masks()}) == len(masks())


@pytest.mark.parametrize("kind", ALL)
def test_nothing_of_a_secret_is_left_and_the_kind_is_said(kind: str) -> None:
    line, secret = ALL[kind]
    text = line.format(secret)
    masked = mask(f"epoch 3\n{text}\nepoch 4")
    assert left_of(secret, masked) == []
    assert "<" in masked and masked.startswith("epoch 3\n")
    if not secret.startswith("-----"):  # of a key whose end is not there all is taken
        assert masked.endswith("\nepoch 4")
    assert re.search(_MASKABLE, text), "the engine would not ask"


@pytest.mark.parametrize("text", _CASES["ordinary"])
def test_ordinary_log_lines_are_untouched(text: str) -> None:
    line = text.format(**_PARTS)
    assert mask(line) == line


BITS = ["token", "password", "sig", *'=:"<@', "/home/", "~j/", "~joe/", "a@b.co", "-p "]


@given(st.lists(st.sampled_from([*LINES, *BITS, "a", " ", "\n"])), st.sampled_from(("", " ")))
def test_masking_twice_changes_nothing(parts: list[str], between: str) -> None:
    once = mask(between.join(parts))
    assert mask(once) == once


def test_a_mask_may_create_another_secret() -> None:
    """Five characters are no token; with a user's name masked among them they are more."""
    assert mask("token=~j/") == mask("token=~<user>/") == "token=<secret>"


def test_rejected_rows_are_stored_without_secrets(tmp_path: Path) -> None:
    names = list(SACCT)
    _, secret = SECRETS["Hugging Face"]
    wrong = {"submit": "soon", "jobname": f"train --token {secret}"}
    rows = ["|".join(names), "|".join(SACCT.values()), "|".join((SACCT | wrong).values())]
    (tmp_path / "sacct.txt").write_text("\n".join((*rows, "")))
    for keep in (False, True):
        out = tmp_path / f"trace-{keep}"
        manifest = ingest("slurm", tmp_path / "sacct.txt", out, keep_secrets=keep).manifest
        for name in ("rejects", "raw/sacct"):
            [file] = manifest.paths(out, name)
            stored = [row["raw"] for row in pq.read_table(file).to_pylist()]
            assert any(left_of(secret, raw) for raw in stored) == keep
            assert len(stored) == (1 if name == "rejects" else 2)


@pytest.mark.real_data
def test_only_personal_names_are_masked_in_real_logs(failure_logs: Path) -> None:
    personal = {"e-mail addresses", "home folders", "Windows home folders"}
    others = [m for m in masks() if m.kind not in personal]
    lines = (failure_logs / "dev.jsonl").read_text("utf-8").splitlines()
    texts = [json.loads(line)["text"] for line in lines]
    false = [m.kind for text in texts for m in others if m.pattern.search(text)]
    assert len(texts) > 100 and false == []
