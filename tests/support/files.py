"""Pack files into archives in memory."""

import io
import tarfile
import zipfile
from collections.abc import Mapping


def packed(members: Mapping[str, str | bytes]) -> bytes:
    """Return a gzipped tar archive of files."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for name, text in members.items():
            body = text.encode() if isinstance(text, str) else text
            info = tarfile.TarInfo(name)
            info.size = len(body)
            tar.addfile(info, io.BytesIO(body))
    return made.getvalue()


def zipped(members: Mapping[str, str | bytes]) -> bytes:
    """Return a zip archive of files."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return made.getvalue()
