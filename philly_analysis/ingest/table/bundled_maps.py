"""List the bundled maps of tables."""

import tomllib

from philly_analysis.ingest.table.table_map import SHIPPED


def table_maps() -> dict[str, str]:
    """Return what each bundled map reads, by its name."""
    files = sorted(SHIPPED.glob("*.toml"))
    return {file.stem: tomllib.loads(file.read_text("utf-8"))["what"] for file in files}
