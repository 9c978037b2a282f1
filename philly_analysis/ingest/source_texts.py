"""Read what is said about each source of raw logs, and the words that it has for its parts."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any


@cache
def source_texts() -> dict[str, dict[str, Any]]:
    """Return the texts about each source, by its name."""
    return tomllib.loads(Path(__file__).with_name("sources.toml").read_text("utf-8"))


def reads_of(source: str) -> str:
    """Return what a source reads.

    Examples
    --------
    >>> reads_of("slurm")
    'A Slurm accounting log: sacct as text or JSON, with lists of its servers.'
    """
    return str(source_texts()[source]["reads"])


def words_of(source: str) -> dict[str, str]:
    """Return the words of a source by the terms of the findings, which they replace in texts.

    Examples
    --------
    >>> words_of("slurm")["virtual cluster"]
    'partition'
    """
    return dict(source_texts().get(source, {}).get("words", {}))


def in_words(words: Mapping[str, str], text: str) -> str:
    """Return a text with the terms of the findings replaced by the words of a source.

    Examples
    --------
    >>> in_words({"virtual cluster": "partition", "gang": "job"}, "Gangs in 2 virtual clusters")
    'Jobs in 2 partitions'
    """
    if not words:
        return text
    forms = {form: word for term, one in words.items() for form, word in _forms(term, one)}
    terms = "|".join(map(re.escape, forms))
    whole = rf"(?<![\w./-])({terms})(s?)(?![\w/-]|\.\w)"  # not within a name: gang-7, gang.example
    return re.sub(whole, lambda match: forms[match[1]] + match[2], text)


def _forms(term: str, word: str) -> list[tuple[str, str]]:
    """Return a term and its word within a sentence, and at the beginning of one."""
    return [(term, word), (term[0].upper() + term[1:], word[0].upper() + word[1:])]
