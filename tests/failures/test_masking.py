"""Check that names and secrets are masked before anything is stored."""

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from philly_analysis import ingest
from philly_analysis.failures import mask
from philly_analysis.failures.masking import masks
from philly_analysis.ingest.sql import _MASKABLE
from tests.failures.secrets import SECRETS
from tests.hostile.documents import SACCT

USERS = {
    "e-mail": ("contact {} for access", "jane.doe+x@cs.example.edu"),
    "home": ('File "/home/{}/exp/train.py", line 3', "jdoe"),
    "mac home": ("/Users/{}/exp", "jane.doe"),
    "windows home": (r"C:\Users\{}\exp\train.py", "Jane"),
}
ALL = SECRETS | USERS
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


@pytest.mark.parametrize(
    "text",
    [
        "RuntimeError: CUDA out of memory. Tried to allocate 512.00 MiB (GPU 0; 10.76 GiB total)",
        'File "/opt/conda/lib/python3.8/site-packages/torch/serialization.py", line 379, in save',
        "tokenizer: 32000 tokens, max_tokens=4096",
        "Token indices sequence length is longer than the specified maximum (600 > 512)",
        "[node1:115786] [ 0] /lib/x86_64-linux-gnu/libpthread.so.0(+0x11390)[0x7fa827ec8200]",
        "SyntaxError: unexpected token in argument",
        "KeyError: 'key_padding_mask'",
        "sk-learn and npm-debug and pk-fk and fw_iter and secret_santa are words",
        "pulled nvcr.io/nvidia/pytorch@sha256:" + "0123456789abcdef" * 4,
        "SHA256: " + "0123456789abcdef" * 4,
        "user@1000.service: Main process exited, code=exited, status=1/FAILURE",
        "Signature: forward(self, x) and cookie cutters and authorization of jobs",
        "password authentication failed; bypass: True",
        "NCCL INFO Channel 00/02 : 0 1 2 3 4 5 6 7 via P2P/CUMEM",
        "http://node1:8080/metrics and s3://bucket/a:b/c",
        "loss_secret 0.123 key_value_memory_dict 3",
        "    token = self.tokenizer.decode(ids), use_auth_token=use_auth_token, token=args.it",
        "    credentials = load_credentials(path)",
        "docker run -v $PWD:/workspace; PWD=/data/runs/exp-17",
        "executor ID driver: local-1499851431442, fw_bw_pass_12_iter_0003, npm_config_3456",
        "pypi-beautifulsoup4-1.2 hf_hub_download_v2_2024 sl.node12.example.org sk-learn-1.0",
        "processed session termination for sessionid: 0x34ede65503f0039",
        "snapshots/" + "0123456789" * 4 + "/model.safetensors, commit " + "0123456789" * 4,
        "Basic Permissions. A token expired.",
        "application_1506638472019_10238 slurmstepd: error: *** JOB 123 ON gpu01 CANCELLED ***",
    ],
)
def test_ordinary_log_lines_are_untouched(text: str) -> None:
    assert mask(text) == text


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
        manifest = ingest("slurm", tmp_path / "sacct.txt", out, keep_secrets=keep)
        for name in ("rejects", "raw/sacct"):
            [file] = manifest.paths(out, name)
            stored = [row["raw"] for row in pq.read_table(file).to_pylist()]
            assert any(left_of(secret, raw) for raw in stored) == keep
            assert len(stored) == (1 if name == "rejects" else 2)


@pytest.mark.real_data
def test_only_personal_names_are_masked_in_real_logs(failure_logs: Path) -> None:
    personal = {"e-mail addresses", "home folders", "home folders of Windows"}
    others = [m for m in masks() if m.kind not in personal]
    lines = (failure_logs / "dev.jsonl").read_text("utf-8").splitlines()
    texts = [json.loads(line)["text"] for line in lines]
    false = [m.kind for text in texts for m in others if m.pattern.search(text)]
    assert len(texts) > 100 and false == []
