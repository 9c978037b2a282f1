"""Anonymize a trace: replace names by keyed hashes, and remove raw text."""

import base64
import hashlib
import hmac
import os
import re
import secrets
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from philly_analysis.errors import InputError, file_errors
from philly_analysis.trace import (
    RAW,
    REJECTS,
    TABLES,
    Input,
    Manifest,
    Table,
    TextKind,
    find_files,
)

_KEY_BYTES = 32
_HASH_BYTES = 10
"""80 bits: among a billion names a collision has a probability of one in a million."""
_SHORTEST_NAME = 3
"""Shorter names, and numbers, are not replaced in sentences, as they may be words and counts."""
_NOTE = (
    "Names of people, jobs, queues, machines and raw files are keyed hashes; rejected rows and "
    "excerpts of output are withheld. Times, sizes and models of GPUs are unchanged."
)


def load_key(file: Path, out: Path) -> bytes:
    """Load the key of a file, or create it, readable by its owner only.

    Parameters
    ----------
    out
        The trace, which must not contain the key.

    Raises
    ------
    InputError
        The file cannot be read or created, has no key, or is in the trace.
    """
    if file.resolve().is_relative_to(out.resolve()):
        raise InputError(f"the key {file} would be in the trace. Give a file outside of it.")
    with file_errors(InputError, f"the key {file}", "."):
        if not file.exists():
            created = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(created, "wb") as new:
                new.write(secrets.token_bytes(_KEY_BYTES))
        key = file.read_bytes()
    if len(key) < _KEY_BYTES:
        raise InputError(
            f"{file} has {len(key)} bytes; a key has {_KEY_BYTES}. Give the name of a "
            "new file, and it is created."
        )
    return key


class Pseudonyms:
    """Keyed hashes of names: equal for equal names in every column and trace."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._hashes = {"": ""}

    def name(self, name: str) -> str:
        """Return the hash of a name: HMAC-SHA256, shortened to 16 letters and digits."""
        if name not in self._hashes:
            digest = hmac.digest(self._key, name.encode("utf-8", "surrogatepass"), hashlib.sha256)
            self._hashes[name] = base64.b32encode(digest[:_HASH_BYTES]).decode().lower()
        return self._hashes[name]

    def path(self, path: str) -> str:
        """Return a path with each name hashed, so that a/b stays a part of a."""
        return "/".join(map(self.name, path.split("/")))

    def sentence(self, sentence: str) -> str:
        """Return a sentence of this package with its quoted names hashed."""
        for name in self._quotable:
            if name in sentence:
                word = rf"(?<!\w){re.escape(name)}(?!\w)"
                sentence = re.sub(word, lambda m: self.name(m[0]), sentence)
        return sentence

    @cached_property
    def _quotable(self) -> list[str]:
        """Names hashed so far that a sentence may contain, longest first."""
        names = (n for n in self._hashes if len(n) >= _SHORTEST_NAME and not n.isdecimal())
        return sorted(names, key=len, reverse=True)


def anonymize(folder: Path, manifest: Manifest, key: bytes) -> Manifest:
    """Anonymize the files of a trace that is complete except for its manifest.

    Each text is replaced according to its column's kind; raw records are removed, so that an
    anonymized trace cannot grow.

    Returns
    -------
    Manifest
        Anonymized, to be written in place of the given one.
    """
    shutil.rmtree(folder / RAW, ignore_errors=True)
    names = Pseudonyms(key)
    inputs = tuple(
        Input(names.name(i.file), i.bytes, names.name(i.digest)) for i in manifest.inputs
    )
    files = find_files(folder)
    for table in (*TABLES.values(), REJECTS):  # sentences last, when all names are known
        for file in files.get(table.name, ()):
            _rewrite(folder / file, table, names)
    accounts = []
    for account in manifest.accounts:
        rejected = Counter[str]()
        for reason, rows in account.rejected.items():
            rejected[names.sentence(reason)] += rows
        accounts.append(replace(account, rejected=dict(rejected)))
    return replace(
        manifest,
        inputs=inputs,
        accounts=tuple(accounts),
        notes=(*map(names.sentence, manifest.notes), _NOTE),
    )


def _rewrite(file: Path, table: Table, names: Pseudonyms) -> None:
    """Rewrite a file of a table, in the order of its key unless it is streamed."""
    partial = file.with_suffix(".anonymous")
    with pq.ParquetFile(file) as old:
        schema = old.schema_arrow
        compression = "snappy" if table.streamed else "zstd"
        with pq.ParquetWriter(partial, schema, compression=compression) as new:
            if table.streamed:
                for group in range(old.num_row_groups):
                    new.write_table(_anonymized(old.read_row_group(group), table, names))
            else:
                rows = _anonymized(old.read(), table, names)
                order = table.key or table.column_names
                new.write_table(rows.sort_by([(column, "ascending") for column in order]))
    partial.replace(file)


def _anonymized(rows: pa.Table, table: Table, names: Pseudonyms) -> pa.Table:
    replacements: dict[TextKind, Callable[[str], str | None]] = {
        "name": names.name,
        "path": names.path,
        "phrase": lambda phrase: re.sub(r"\W.*", "", phrase, flags=re.DOTALL) or None,
        "sentence": names.sentence,
        "text": lambda _: None,
    }
    for i, field in enumerate(rows.schema):
        column = next(c for c in table.columns if c.name == field.name)
        # a text of undeclared kind is treated as a name
        kind = column.text or ("name" if column.type == "varchar" else "nothing")
        if kind != "nothing":
            coded = pa.chunked_array(rows.column(i)).combine_chunks().dictionary_encode()
            texts = [replacements[kind](value) for value in coded.dictionary.to_pylist()]
            rows = rows.set_column(i, field, pa.array(texts, pa.string()).take(coded.indices))
    return rows
