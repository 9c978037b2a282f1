"""Takes names out of a trace: each becomes a keyed hash, and raw text is withheld."""

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

from philly_analysis.errors import InputError
from philly_analysis.trace import RAW, REJECTS, TABLES, Account, Input, Manifest, Table, TextKind

_KEY_BYTES = 32
_HASH_BYTES = 10
"""80 bits: among a billion names, the chance that any two are taken for one is one in a million."""
_SHORTEST = 3
"""Shorter names, and numbers, are not looked for in sentences: they are words and counts there."""
_NOTE = (
    "Names of people, jobs, queues and machines are keyed hashes, as are those of raw files; "
    "rejected rows and excerpts of output are withheld. Times, sizes and models of GPUs stand as "
    "they were."
)


def key_in(file: Path, out: Path) -> bytes:
    """Return the key in a file, which is made, for its owner's eyes only, where there is none.

    Parameters
    ----------
    out
        The trace, in which the key must not lie.

    Raises
    ------
    InputError
        The file cannot be read or made, holds no key, or would travel with the trace.
    """
    if file.resolve().is_relative_to(out.resolve()):
        raise InputError(f"the key {file} would lie in the trace. Give a file that stays at home.")
    try:
        if not file.exists():
            made = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(made, "wb") as new:
                new.write(secrets.token_bytes(_KEY_BYTES))
        key = file.read_bytes()
    except OSError as error:
        raise InputError(f"the key {file}: {error.strerror or error}.") from None
    if len(key) < _KEY_BYTES:
        raise InputError(
            f"{file} holds {len(key)} bytes; a key has {_KEY_BYTES}. Give a file that is not there "
            "yet, and one is made."
        )
    return key


class Names:
    """What names are called under a key: the same name the same in every column and trace."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._hashes = {"": ""}

    def name(self, name: str) -> str:
        """Return the hash that stands for a name: HMAC-SHA256, cut to 16 letters and digits."""
        if name not in self._hashes:
            digest = hmac.digest(self._key, name.encode("utf-8", "surrogatepass"), hashlib.sha256)
            self._hashes[name] = base64.b32encode(digest[:_HASH_BYTES]).decode().lower()
        return self._hashes[name]

    def path(self, path: str) -> str:
        """Return a path of names, each hashed: a/b stays part of a."""
        return "/".join(map(self.name, path.split("/")))

    def sentence(self, sentence: str) -> str:
        """Return a sentence of ours with the names in it, of those hashed so far, hashed."""
        for name in self._quotable:
            if name in sentence:
                whole = rf"(?<!\w){re.escape(name)}(?!\w)"
                sentence = re.sub(whole, lambda m: self.name(m[0]), sentence)
        return sentence

    @cached_property
    def _quotable(self) -> list[str]:
        """Names hashed so far that a sentence may quote, longest first."""
        found = (n for n in self._hashes if len(n) >= _SHORTEST and not n.isdecimal())
        return sorted(found, key=len, reverse=True)


def anonymize(folder: Path, manifest: Manifest, key: bytes) -> Manifest:
    """Take the names out of a trace that is finished but for its manifest.

    Raw records go: a trace without names cannot grow.

    Each file is rewritten by what its columns declare that they tell (``Column.text``), samples
    row group by row group.

    Returns
    -------
    Manifest
        Without names: to be written in the place of the one given.
    """
    shutil.rmtree(folder / RAW, ignore_errors=True)  # raw records name everybody
    names = Names(key)
    inputs = tuple(
        Input(names.name(i.file), i.bytes, names.name(i.digest)) for i in manifest.inputs
    )
    for table in (*TABLES.values(), REJECTS):  # sentences come last, when all names are known
        single = folder / f"{table.name}.parquet"
        for file in (
            [single] if single.is_file() else sorted(folder.glob(f"{table.name}/*.parquet"))
        ):
            _rewrite(file, table, names)
    accounts = []
    for account in manifest.accounts:
        rejected = Counter[str]()
        for reason, rows in account.rejected.items():
            rejected[names.sentence(reason)] += rows
        accounts.append(Account(account.table, account.read, account.kept, dict(rejected)))
    return replace(
        manifest,
        inputs=inputs,
        accounts=tuple(accounts),
        notes=(*map(names.sentence, manifest.notes), _NOTE),
    )


def _rewrite(file: Path, table: Table, names: Names) -> None:
    """Rewrite a file of a table, in the order of its key unless it is streamed."""
    partial = file.with_suffix(".anonymous")
    with pq.ParquetFile(file) as old:
        schema = old.schema_arrow
        compression = "snappy" if table.streamed else "zstd"
        with pq.ParquetWriter(partial, schema, compression=compression) as new:
            if table.streamed:
                for group in range(old.num_row_groups):
                    new.write_table(_without_names(old.read_row_group(group), table, names))
            else:
                rows = _without_names(old.read(), table, names)
                order = table.key or table.column_names
                new.write_table(rows.sort_by([(column, "ascending") for column in order]))
    partial.replace(file)


def _without_names(rows: pa.Table, table: Table, names: Names) -> pa.Table:
    said: dict[TextKind, Callable[[str], str | None]] = {
        "name": names.name,
        "path": names.path,
        "phrase": _first_word,
        "sentence": names.sentence,
        "text": lambda _: None,
    }
    for i, field in enumerate(rows.schema):
        column = next(c for c in table.columns if c.name == field.name)
        # a text that nobody declared is taken for a name
        kind = column.text or ("name" if column.type == "varchar" else "nothing")
        if kind != "nothing":
            coded = pa.chunked_array(rows.column(i)).combine_chunks().dictionary_encode()
            told = [said[kind](value) for value in coded.dictionary.to_pylist()]
            rows = rows.set_column(i, field, pa.array(told, pa.string()).take(coded.indices))
    return rows


def _first_word(phrase: str) -> str | None:
    """Return the first word of a phrase, as in ``ReqNodeNotAvail, UnavailableNodes:n1``."""
    found = re.match(r"\w+", phrase)
    return found[0] if found else None
