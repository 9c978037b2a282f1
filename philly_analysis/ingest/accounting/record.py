"""Define a record of an accounting log, in the same terms for PBS, LSF and Grid Engine."""

import re
from collections.abc import Callable
from typing import NamedTuple

_MEMORY = re.compile(r"([0-9]+(?:\.[0-9]+)?)([kKmMgGtTpP]?)[bB]?")
_SPAN = re.compile(r"[0-9]{1,12}(:[0-9]{1,12}){0,3}")
_UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4, "p": 1024**5}


class Record(NamedTuple):
    """One line of an accounting log.

    Attributes
    ----------
    fault
        Reason to reject the line, or None.
    event
        ``queued``, ``started``, ``ended``, ``deleted`` (a user or the scheduler ended the job), or
        ``part`` (tasks of a parallel job on another server).
    job
        Job identifier, with the task of an array.
    created_s, eligible_s, started_s, ended_s
        Seconds since 1970, UTC; None: not recorded.
    local_s
        Time of the line in the scheduler's own clock, as seconds since 1970 of equal digits.
    gpus, cpus, mem_gb, time_limit_s
        GPUs of the attempt, CPU cores and gigabytes (10^9 bytes) requested, run time limit.
    gpus_per_slot
        GPUs requested once or for each slot, as the scheduler's settings decide.
    slots
        Slots granted.
    end_reason, status
        End of the attempt and of the job in the words of the tables; None: not recorded.
    hosts, host_gpus, gpu_indices
        Servers, GPUs on each, and the index of the GPU where each row is one GPU.
    """

    fault: str | None = None
    event: str | None = None
    job: str | None = None
    vc: str | None = None
    user: str | None = None
    account: str | None = None
    created_s: float | None = None
    eligible_s: float | None = None
    started_s: float | None = None
    ended_s: float | None = None
    local_s: float | None = None
    gpus: int | None = None
    gpus_per_slot: int | None = None
    gpu_resource: str | None = None
    slots: int | None = None
    parallel: str | None = None
    cpus: float | None = None
    mem_gb: float | None = None
    time_limit_s: float | None = None
    gpu_model: str | None = None
    exit_code: int | None = None
    end_reason: str | None = None
    status: str | None = None
    ended_by: str | None = None
    hosts: list[str] | None = None
    host_gpus: list[int | None] | None = None
    gpu_indices: list[int | None] | None = None


Parse = Callable[[str], Record | None]
"""Returns the record of a line, or None for a line that is no record of a job."""


def memory_gb(text: str | None) -> float | None:
    """Return memory as gigabytes of 10^9 bytes; units are powers of 1024.

    Examples
    --------
    >>> memory_gb("1000kb"), memory_gb("2G"), memory_gb("many")
    (0.001024, 2.147483648, None)
    """
    match = _MEMORY.fullmatch(text or "")
    return float(match[1]) * _UNITS[match[2].lower()] / 1e9 if match else None


def span_s(text: str | None) -> float | None:
    """Return a time span as seconds: ``HH:MM:SS``, ``MM:SS`` or a number of seconds.

    Examples
    --------
    >>> span_s("10:01:06"), span_s("36000"), span_s("INFINITY")
    (36066.0, 36000.0, None)
    """
    if not _SPAN.fullmatch(text or ""):
        return None
    weights = (1, 60, 3600, 86400)
    parts = reversed((text or "").split(":"))
    return float(sum(int(part) * weight for part, weight in zip(parts, weights, strict=False)))


def whole(text: str | None, most: int = 2**31 - 1) -> int | None:
    """Return a whole number from 0 to a limit; None for any other text."""
    if text is None or not re.fullmatch(r"[0-9]{1,19}", text) or int(text) > most:
        return None
    return int(text)


def moment_s(text: str | None, divisor: int = 1) -> float | None:
    """Return a time since 1970 as seconds; None for 0 and for any other text."""
    number = whole(text, 2**53)
    return number / divisor if number else None
