"""Pack a recording of the laboratory into one compressed file, and unpack it."""

import tarfile
from pathlib import Path

SHIPPED = Path(__file__).with_name("recording.tar.xz")
"""The recording that quick tests read."""

LONG = Path(__file__).with_name("recording-long.tar.xz")
"""The recording whose jobs run much longer than the delays of Slurm's daemons."""


def pack(folder: Path, archive: Path) -> None:
    """Write a folder into an archive, without owners and times of change."""
    with tarfile.open(archive, "w:xz", preset=9) as packed:
        for file in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = tarfile.TarInfo(str(file.relative_to(folder)))
            entry.size = file.stat().st_size
            with file.open("rb") as content:
                packed.addfile(entry, content)


def unpack(archive: Path, folder: Path) -> None:
    """Write the files of an archive into a folder."""
    with tarfile.open(archive) as packed:
        for entry in packed:
            content = packed.extractfile(entry)
            assert content is not None and ".." not in entry.name
            file = folder / entry.name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.read())
