"""Read quotas of virtual clusters from a mapping or a file, and write them into a trace."""

import csv
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from philly_analysis.errors import InputError
from philly_analysis.trace.schema import VIRTUAL_CLUSTERS

Quotas: TypeAlias = Mapping[str, int] | str | Path
"""GPUs by virtual cluster, or a file with the GPUs of each virtual cluster."""

FILE = f"{VIRTUAL_CLUSTERS.name}.parquet"
"""File of a trace with its quotas."""
_MAX_GPUS = 2**31
QUOTAS_NOTE = "Quotas of virtual clusters are as they were given, not estimated."
"""Note of a trace whose quotas the user gave."""
_EXAMPLE = (
    "Give a CSV file with the columns vc and gpus, or a TOML file with a line `vision = 64` per "
    "virtual cluster."
)


def read_quotas(quotas: Quotas) -> dict[str, int]:
    """Return GPUs by virtual cluster.

    Parameters
    ----------
    quotas
        A mapping; or a file: CSV with the columns ``vc`` and ``gpus``, or TOML with a line per
        virtual cluster, under ``[quotas]`` or at the top.

    Raises
    ------
    InputError
        The file cannot be read, or has no valid quotas.
    """
    if isinstance(quotas, Mapping):
        return _checked(quotas, "the quotas")
    file = Path(quotas)
    try:
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the quotas {file} cannot be read: {error}. {_EXAMPLE}") from None
    if file.suffix == ".toml":
        try:
            content = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{file} is no TOML: {error}. {_EXAMPLE}") from None
        table = content.get("quotas", content)
        if not isinstance(table, dict):
            raise InputError(f"{file}: quotas is no table. {_EXAMPLE}")
        return _checked(table, str(file))
    rows = list(csv.DictReader(text.splitlines(), skipinitialspace=True))
    if not rows or not {"vc", "gpus"} <= rows[0].keys():
        columns = ", ".join(map(str, rows[0])) if rows else "no rows"
        raise InputError(f"{file} has {columns}. {_EXAMPLE}")
    if len(rows) > len({row["vc"] for row in rows}):
        raise InputError(f"{file} names a virtual cluster twice: give each one quota.")
    return _checked({str(row["vc"]): row["gpus"] for row in rows}, str(file))


def write_quotas(trace: Path, quotas: Mapping[str, int]) -> None:
    """Write quotas into the folder of a trace, as its table ``virtual_clusters``."""
    table = pa.table(
        {"vc": list(quotas), "gpus": list(quotas.values())}, schema=VIRTUAL_CLUSTERS.arrow
    )
    pq.write_table(table, trace / FILE, compression="zstd")


def _checked(quotas: Mapping[str, object], where: str) -> dict[str, int]:
    checked: dict[str, int] = {}
    for vc, gpus in quotas.items():
        try:
            number = float(str(gpus))
        except ValueError:
            number = -1.0
        if not 0 <= number < _MAX_GPUS or number != int(number):
            raise InputError(f"{where}: {gpus!r} is no number of GPUs for {vc}. {_EXAMPLE}")
        checked[str(vc)] = int(number)
    if not checked:
        raise InputError(f"{where}: there is no quota. {_EXAMPLE}")
    return checked
