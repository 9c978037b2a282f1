"""Find the five files of the Philly archive, in its folder or in ``trace-data.tar.gz``."""

import hashlib
import shutil
import tarfile
from pathlib import Path, PurePosixPath

from philly_analysis.errors import InputError, file_errors
from philly_analysis.ingest.downloads.catalogue import published
from philly_analysis.ingest.raw_file import gzip_errors

OPTIONAL_FILES = {
    "cluster_machine_list": "machines are those named in the other files",
    "cluster_gpu_util": "the trace has no gpu_samples",
    "cluster_cpu_util": "host_samples have no cpu_pct",
    "cluster_mem_util": "host_samples have no memory",
}
"""Files that may be missing, and the consequence for the trace."""

FILES = ("cluster_job_log", *OPTIONAL_FILES)
SYNTHETIC = "SYNTHETIC.md"
"""File that marks an archive as not recorded on a cluster."""
TRUTH = "truth.parquet"
"""File of a synthetic archive with the causes of its waits."""


def find_files(folder: Path) -> dict[str, Path]:
    """Return the files of the archive in a folder, gzipped or not.

    Raises
    ------
    InputError
        The folder is missing, has no job log, or has a file that cannot be read.
    """
    if not folder.is_dir():
        raise InputError(
            f"{folder} is neither a folder nor a file. Give the folder that holds "
            "cluster_job_log, or trace-data.tar.gz."
        )
    # of a file that is there twice, the unpacked one is read
    paths = [folder / f"{name}{ending}" for name in FILES for ending in (".gz", "")]
    files = {path.name.removesuffix(".gz"): path for path in paths if path.is_file()}
    if "cluster_job_log" not in files:
        inner = next(folder.glob("*/cluster_job_log*"), None)
        hint = f" Did you mean {inner.parent}?" if inner else ""
        raise InputError(f"{folder} has no cluster_job_log, which is required.{hint}")
    for path in files.values():
        with (
            file_errors(InputError, f"{path} cannot be read", ". Check its permissions."),
            path.open("rb") as file,
        ):
            first = file.read(64)
        if not first:
            raise InputError(f"{path} is empty. Fetch it again.")
    return files


def unpack(archive: Path, folder: Path) -> list[str]:
    """Unpack the archive's files into a new folder, and compare its digest with the published one.

    Returns
    -------
    list of str
        A warning if size or digest differ from the published archive's; else nothing.

    Raises
    ------
    InputError
        The file is not the archive, is truncated, or has a member that points outside of the
        archive.
    """
    folder.mkdir()
    try:
        with gzip_errors(archive), tarfile.open(archive, "r:gz") as tar:
            for member in tar:
                _extract(tar, member, archive, folder)
        with archive.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except (tarfile.TarError, ValueError, OverflowError) as error:
        raise InputError(
            f"{archive} is not a gzipped tar archive, or was cut off: {error}. Fetch it again."
        ) from None
    except PermissionError as error:
        raise InputError(f"{archive} cannot be read: {error.strerror}.") from None
    if (folder / SYNTHETIC).is_file():
        return []
    size = archive.stat().st_size
    [original] = published()["philly"].files
    if (size, digest) == (original.bytes, original.sha256):
        return []
    return [
        f"WARNING: {archive.name} has {size:,} bytes and sha256 {digest[:12]}…; the "
        f"published archive has {original.bytes:,} and {original.sha256[:12]}…. It was changed, "
        "or is another one."
    ]


def _extract(tar: tarfile.TarFile, member: tarfile.TarInfo, archive: Path, folder: Path) -> None:
    name = PurePosixPath(member.name)
    plain = (member.isfile() and not member.issparse()) or member.isdir()
    if name.is_absolute() or ".." in name.parts or not plain:
        raise InputError(
            f"{archive} has a member that is no plain file inside it: {member.name[:120]!r}. "
            "The published archive has no such member; do not trust this one."
        )
    expected = (*FILES, *(f"{f}.gz" for f in FILES), SYNTHETIC)
    if not member.isfile() or name.name not in expected:
        return
    if member.size > (free := shutil.disk_usage(folder).free):
        raise InputError(
            f"{archive}: {name.name} declares {member.size:,} bytes, and {folder} has {free:,} "
            "free. Free some disk space, if you trust this archive."
        )
    target = folder / name.name
    if target.exists():
        raise InputError(f"{archive} has two files named {name.name}.")
    source = tar.extractfile(member)
    assert source is not None  # noqa: S101 - a plain file has content
    with source, target.open("wb") as out:
        shutil.copyfileobj(source, out, 1 << 20)
