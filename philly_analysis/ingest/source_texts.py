"""Read what is said about each source of raw logs, and the words that it has for its parts."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path


@cache
def source_texts() -> dict[str, dict[str, str]]:
    """Return the texts about each source, by its name."""
    return tomllib.loads(Path(__file__).with_name("sources.toml").read_text("utf-8"))


def words_of(source: str) -> dict[str, str]:
    """Return the words of a source by the terms of the findings, which they replace in texts.

    Examples
    --------
    >>> words_of("slurm")["virtual cluster"]
    'partition'
    """
    word = source_texts().get(source, {}).get("virtual_cluster")
    if word is None:
        return {}
    return {"virtual cluster": word, "Virtual cluster": word.capitalize()}


def in_words(words: Mapping[str, str], text: str) -> str:
    """Return a text with the terms of the findings replaced by the words of a source."""
    for term, word in words.items():
        text = text.replace(term, word)
    return text
