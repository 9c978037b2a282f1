"""Nothing that identifies a person or opens a door is stored."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from philly_analysis.failures import mask

SECRETS = {
    "hugging face": "401 Client Error with token hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345",
    "github": "remote: ghp_0123456789abcdefABCDEF0123456789abcd rejected",
    "aws key": "AKIAIOSFODNN7EXAMPLE is not authorised",
    "bearer": "Authorization: Bearer abcdef.0123456789-xyz",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    "password": "--password=hunter2hunter2 --user x",
    "json key": '{"api_key": "0123456789abcdef", "n": 1}',
    "url": "https://someone:s3cretpass@host.example/x",
    "wandb": "wandb login 0123456789abcdef0123456789abcdef01234567",
    "e-mail": "contact jane.doe+x@cs.example.edu for access",
    "home": 'File "/home/jdoe/exp/train.py", line 3',
    "mac home": "/Users/jane.doe/exp",
    "windows home": r"C:\Users\Jane\exp\train.py",
    "signed url": "https://a.example/f?X-Amz-Signature=0123456789abcdef&x=1",
}
PLAIN = {
    "hf": "hf_AbC",
    "github": "ghp_0",
    "aws": "AKIA",
    "bearer": "abcdef.0",
    "jwt": "eyJ",
    "password": "hunter2",
    "key": "0123456789abcdef",
    "url": "s3cret",
    "mail": "jane.doe",
    "home": "jdoe",
    "windows": "Jane",
}


@pytest.mark.parametrize("name", SECRETS)
def test_secrets_are_gone_and_the_kind_is_said(name: str) -> None:
    masked = mask(SECRETS[name])
    assert not any(secret in masked for secret in PLAIN.values())
    assert "<" in masked


@pytest.mark.parametrize(
    "text",
    [
        "RuntimeError: CUDA out of memory. Tried to allocate 512.00 MiB (GPU 0; 10.76 GiB total)",
        'File "/opt/conda/lib/python3.8/site-packages/torch/serialization.py", line 379, in save',
        "tokenizer: 32000 tokens, max_tokens=4096",
        "Token indices sequence length is longer than the specified maximum (600 > 512)",
        "[node1:115786] [ 0] /lib/x86_64-linux-gnu/libpthread.so.0(+0x11390)[0x7fa827ec8200]",
        "SyntaxError: unexpected token in argument",
    ],
)
def test_ordinary_log_lines_are_untouched(text: str) -> None:
    assert mask(text) == text


@given(st.lists(st.sampled_from([*SECRETS.values(), "token=", "/home/", "@", ":", "a", "\n"])))
def test_masking_twice_changes_nothing(parts: list[str]) -> None:
    once = mask(" ".join(parts))
    assert mask(once) == once
