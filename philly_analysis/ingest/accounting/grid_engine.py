"""Parse accounting records of Grid Engine: colon-separated fields, one line per finished run.

Son of Grid Engine and its predecessors write times in seconds, Univa's and Altair's in
milliseconds. Source: accounting(5), sge_status(5), complex(5), sge_pe(5).
"""

import re
from collections.abc import Iterator
from pathlib import Path

from philly_analysis.ingest.accounting.record import Record, memory_gb, moment_s, span_s, whole
from philly_analysis.ingest.raw_file import first_lines, text_lines

_FEWEST_FIELDS = 43
"""Fields of the oldest version; accounting(5) lists 45, and Univa adds more."""
_MILLISECONDS = 10**11
"""Times from here on are milliseconds: as seconds they lie after the year 5000."""
_GPU_RESOURCES = ("gpu", "gpus", "ngpus", "num_gpus", "num_gpu", "gpu_count", "gpucard")
"""Names that sites give to their resource of GPUs; Grid Engine defines none."""
_RESCHEDULED = (24, 25, 30)
"""Codes after which a job runs again: migrating, rescheduling, rescheduling on its own request."""
_TIME_LIMIT = 37
_SIGNALLED = 100
_FROM_OUTSIDE = tuple(128 + number for number in (9, 10, 12, 15, 24))
"""Exit statuses by signals that Grid Engine sends: KILL, USR1, USR2, TERM, XCPU."""


def parse(line: str) -> Record | None:
    """Return the record of a line; None for a line that is no accounting record."""
    fields = line.split(":")
    if (
        line.startswith("#")
        or len(fields) < _FEWEST_FIELDS
        or not all(re.fullmatch(r"\d+", fields[i]) for i in (5, 8, 9, 10))
    ):
        return None
    unit = 1000 if int(fields[8]) >= _MILLISECONDS else 1
    created, started, ended = (moment_s(fields[i], unit) for i in (8, 9, 10))
    numbers = [whole(fields[i]) for i in (11, 12, 34, 35)]
    if created is None and whole(fields[11]) in _RESCHEDULED:
        return Record(fault="a rescheduled run, of which Grid Engine records no times")
    if created is None or None in numbers:
        return Record(fault="its submission, exit status, slots or task is not a number")
    failed, exit_status, slots, task = (n or 0 for n in numbers)
    part = fields[41] != "NONE"
    resources = _resources(fields[39])
    name = next((n for n in _GPU_RESOURCES if n in resources), None)
    limit = span_s(resources.get("h_rt"))
    end_reason, status = _end(failed, exit_status, started, ended, limit)
    return Record(
        event="part" if part else "ended",
        job=fields[5] + (f".{task}" if task else ""),
        vc=fields[0] if fields[0] not in ("UNKNOWN", "") else None,
        user=fields[3] or None,
        account=fields[31] if fields[31] != "NONE" else None,
        created_s=created,
        started_s=started,
        ended_s=ended if started is not None else None,
        gpus_per_slot=whole(resources.get(name), 100_000) if name else 0,
        gpu_resource=name,
        slots=max(slots, 1),
        parallel=None if fields[33] == "NONE" else fields[33],
        cpus=float(max(slots, 1)),
        time_limit_s=limit or None,
        gpu_model=resources.get("gpu_type") or resources.get("gpu_model"),
        exit_code=exit_status,
        end_reason=end_reason,
        status=status,
        hosts=[fields[1]] if fields[1] not in ("UNKNOWN", "") else None,
        host_gpus=[None] if fields[1] not in ("UNKNOWN", "") else None,
        gpu_indices=[None] if fields[1] not in ("UNKNOWN", "") else None,
    )


def _resources(category: str) -> dict[str, str]:
    """Return the hard resources of a job's category.

    Examples
    --------
    >>> _resources("-u bob -l gpu=1,h_rt=36000 -pe smp 4")
    {'gpu': '1', 'h_rt': '36000'}
    """
    return {
        name: value
        for option, listed in re.findall(r"(?:^|\s)((?:-soft )?-l) (\S+)", category)
        if option == "-l"
        for name, _, value in (one.partition("=") for one in listed.split(","))
    }


def _end(
    failed: int, exit_status: int, started: float | None, ended: float | None, limit: float | None
) -> tuple[str | None, str | None]:
    """Return how the attempt ended and the status of its job; None where the log does not say.

    A run that SIGKILL ended (code 100) may have been deleted, have reached a limit or have failed.
    """
    if failed == 0:
        return ("completed", "Pass") if exit_status == 0 else ("failed", "Failed")
    if failed in _RESCHEDULED:
        return "requeued", None
    reached = None not in (started, ended, limit) and (ended or 0) - (started or 0) >= (limit or 0)
    if failed == _TIME_LIMIT or (failed == _SIGNALLED and reached):
        return "time_limit", "Failed"
    unclear = failed == _SIGNALLED and exit_status in _FROM_OUTSIDE
    return (None, None) if unclear else ("failed", "Failed")


def read_hosts(path: Path) -> list[dict[str, object]] | None:
    """Return the servers in prints of ``qconf -se HOST``; None: the file is another list."""
    rows: list[dict[str, object]] = []
    if not any(line.startswith("hostname ") for line in first_lines(path, 1)):
        return None
    for number, line in _joined_lines(path):
        name, _, value = line.partition(" ")
        if name == "hostname":
            rows.append({"source_line": number, "raw": line, "node": value.strip()})
        elif name in ("complex_values", "load_values"):
            amounts = dict(one.split("=", 1) for one in value.strip().split(",") if "=" in one)
            gpus = next((amounts[n] for n in _GPU_RESOURCES if n in amounts), None)
            if name == "complex_values" and gpus is not None:
                rows[-1]["gpus"] = whole(gpus.split(".")[0], 100_000)
            if name == "load_values":
                rows[-1]["cpus"] = whole(amounts.get("num_proc", "").split(".")[0])
                rows[-1]["mem_gb"] = memory_gb(amounts.get("mem_total"))
    return [row for row in rows if row["node"] not in ("global", "template")] or None


def _joined_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield lines; a line that ends in a backslash is joined to its successor."""
    text, first = "", 0
    for number, line in text_lines(path):
        first = first or number
        text += line.removesuffix("\\").strip() if text else line.removesuffix("\\").rstrip()
        if not line.endswith("\\"):
            yield first, text
            text, first = "", 0


def read_settings(path: Path) -> list[dict[str, object]] | None:
    """Return GPU resources of ``qconf -sc`` and environments of ``qconf -sp``, or None."""
    rows: list[dict[str, object]] = []
    environment = ""
    for number, line in text_lines(path):
        words = line.split()
        if len(words) >= 8 and words[0] in _GPU_RESOURCES:
            rows.append({"source_line": number, "name": words[0], "value": words[5]})
        elif len(words) == 2 and words[0] == "pe_name":
            environment = words[1]
        elif len(words) == 2 and words[0] == "allocation_rule" and environment:
            rows.append({"source_line": number, "name": environment, "value": words[1]})
    return rows or None
