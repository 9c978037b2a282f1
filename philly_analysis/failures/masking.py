"""Mask secrets and personal data in log text before it is stored."""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple


class Mask(NamedTuple):
    """A kind of text that is never stored, its pattern, and the replacement of what matches."""

    kind: str
    pattern: re.Pattern[str]
    replacement: str


@cache
def masks() -> tuple[Mask, ...]:
    """Read ``masks.toml``: the masks in the order in which they are applied."""
    rules = tomllib.loads(Path(__file__).with_name("masks.toml").read_text("utf-8"))
    compiled = []
    for rule in rules["mask"]:
        pattern = "".join(rule["pattern"])
        for name, fragment in rules["fragments"].items():
            pattern = pattern.replace("{{" + name + "}}", "".join(fragment))
        compiled.append(Mask(rule["kind"], re.compile(pattern), rule["replacement"]))
    return tuple(compiled)


def mask(text: str) -> str:
    """Replace tokens, passwords, keys, e-mail addresses and home folders by their kind.

    A replacement may turn the text around it into another match, so masks are applied until
    nothing changes. Masking masked text therefore returns it unchanged.
    """
    before = None
    while text != before:
        before = text
        for _, pattern, replacement in masks():
            text = pattern.sub(replacement, text)
    return text
