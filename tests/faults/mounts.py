"""Mount full and read-only disks in a private namespace."""

import ctypes
import os
from pathlib import Path

_LIBC = ctypes.CDLL(None, use_errno=True)
REMOUNT, BIND, READ_ONLY = 32, 4096, 1
"""Flags of mount(2)."""


def may_mount(at: Path) -> str:
    """Return why mounting fails; empty: it works, as it does under ``unshare -rm``."""
    place = at / "mounted"
    place.mkdir(exist_ok=True)
    try:
        mount("tmpfs", place, "tmpfs", 0, "size=1m")
        unmount(place)
    except OSError as error:
        return f"mounts are not allowed here ({error.strerror}): run under `unshare -rm`"
    return ""


def mount(what: str, where: Path, kind: str, flags: int, options: str) -> None:
    """Mount as mount(2) does, or raise OSError."""
    words = [text.encode() for text in (what, str(where), kind)]
    if _LIBC.mount(*words, ctypes.c_ulong(flags), options.encode()):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(where))


def unmount(where: Path) -> None:
    """Unmount a folder, if need be as soon as it is no longer in use."""
    if _LIBC.umount2(str(where).encode(), 2):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(where))
