"""Find the shipped maps that fit given files: by the names of the files and by their columns."""

from pathlib import Path

from philly_analysis.errors import InputError
from philly_analysis.ingest.table.rows import files_of, first_record
from philly_analysis.ingest.table.table_map import SHIPPED, Layout, load_map


def fitting_maps(raw: Path) -> list[str]:
    """Return the shipped maps whose file of jobs is here, by its name and its columns."""
    names = []
    for path in sorted(SHIPPED.glob("*.toml")):
        layout = load_map(path).tables["jobs"]
        files = files_of(raw if raw.is_dir() else raw.parent, layout)
        files = [file for file in files if raw.is_dir() or file == raw]
        if files and _has_columns(files[0], layout):
            names.append(path.stem)
    return names


def _has_columns(file: Path, layout: Layout) -> bool:
    """Return whether the first record of a file has the columns that a map reads."""
    try:
        record = first_record(file, layout)
    except InputError:
        return False
    if layout.header:
        return len(record) == len(layout.header)
    columns = {field.column for field in layout.fields.values() if field.column is not None}
    return columns <= {name.strip() for name in record}
