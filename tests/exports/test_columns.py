"""Check the dictionary of columns in each format's sidecar against the files themselves."""

import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.exports.conftest import Exporter
from tests.exports.files import lines
from tests.exports.readers import READERS

HEADLESS = {("gavel", "gavel"): 10, ("gavel", "shockwave"): 12, ("synergy", "replay"): 5}
"""Number of fields of files without a header, as their readers split the lines."""
SWF = 18


def fields(value: Any, path: str = "") -> Iterator[str]:
    """Yield the paths of the values of a JSON document; keys of a map of names are ``*``."""
    if isinstance(value, list):
        for item in value:
            yield from fields(item, f"{path}[]")
        if not value or not isinstance(value[0], dict | list):
            yield path
    elif isinstance(value, dict):
        for key, item in value.items():
            name = "*" if path == "profiles" else key
            yield from fields(item, f"{path}.{name}" if path else name)
    else:
        yield path.removesuffix("[]")


def described(names: list[str], file: Path, exported: tuple[str, str]) -> None:
    """Check the names of a file's columns, in the file's own order."""
    if file.suffix == ".parquet":
        assert names == pq.read_schema(file).names
    elif exported[0] == "batsim" or file.name == "cluster_job_log":
        document = json.loads(file.read_text())
        in_file = {path.replace("[][]", "[]") for path in fields(document)}
        assert in_file <= set(names) and len(set(names)) == len(names)
        # time limits are not known of every job
        assert set(names) - in_file <= {"jobs[].walltime"}
    elif file.suffix == ".pkl":
        assert isinstance(pickle.loads(file.read_bytes()), dict) and names == ["*"]  # noqa: S301
    elif file.suffix == ".yaml":
        assert all(part in file.read_text() for name in names for part in name.split("."))
    elif exported in HEADLESS:
        separator = "\t" if exported[0] == "gavel" else ","
        assert {len(line.split(separator)) for line in lines(file)} == {HEADLESS[exported]}
        assert len(names) == HEADLESS[exported]
    elif exported[0] == "swf":
        records = [line for line in lines(file) if not line.startswith(";")]
        assert {len(line.split()) for line in records} == {SWF} and len(names) == SWF
    else:
        assert names == lines(file)[0].rstrip(",").split(",")


@pytest.mark.parametrize("key", READERS, ids="-".join)
def test_every_column_of_every_file_is_described(key: tuple[str, str], exported: Exporter) -> None:
    done = exported(*key, gpus=32, partial=True)
    sidecar = json.loads(exported.out.with_name(exported.out.name + ".json").read_text())
    columns = sidecar["columns"]
    assert columns == list(done.columns)
    files = (
        {".": exported.out}
        if exported.out.is_file()
        else {path.relative_to(exported.out).as_posix(): path for path in exported.out.rglob("*")}
    )
    assert {column["file"] for column in columns} == set(files)
    for name, file in files.items():
        rows = [column for column in columns if column["file"] == name]
        described([column["name"] for column in rows], file, key)
        assert all(len(column["meaning"]) > 5 and "\n" not in column["meaning"] for column in rows)
        assert all(set(column) == {"file", "name", "unit", "meaning"} for column in rows)
    exported.read(*key)
