"""Parse accounting records of LSF: ``JOB_FINISH`` lines of ``lsb.acct``.

The fields are positional, quoted texts double their quotes, and several lists vary in length.
Source: IBM Spectrum LSF configuration reference, "lsb.acct".
"""

import re
from typing import NamedTuple

from philly_analysis.ingest.accounting.record import Record, moment_s, whole

_FIELD = re.compile(r'"((?:[^"]|"")*)"|(\S+)')
_GPUS = re.compile(
    r"\bngpus(?:_physical|_excl_p|_excl_t|_shared)?\s*=\s*(\d{1,4})(?:\.0*)?(?![\d.])"
)
"""Reservation of GPUs in a resource requirement: per server, unless LSF is set up per task."""
_DONE, _EXIT = 64, 32
_RUSAGE_FIELDS = 19
_HOST_USAGE_FIELDS = 6

_TERMINATIONS = {
    1: "preempted",
    5: "time_limit",
    6: "time_limit",
    8: "killed",
    9: "killed",
    10: "requeued",
    11: "requeued",
    14: "killed",
    15: "killed",
    16: "out_of_memory",
    20: "out_of_memory",
    23: "killed",
    26: "killed",
}
"""How an attempt ended, by LSF's reason of termination (``TERM_…`` in ``lsbatch.h``)."""
_STATUS = {"preempted": None, "requeued": None, "killed": "Killed"}
"""Status of a job by the end of its attempt; another end is a failure."""


class Field(NamedTuple):
    """A field of a record, and whether it was quoted."""

    text: str
    quoted: bool


def parse(line: str) -> Record | None:
    """Return the record of a line; None for a line that is no event of LSF."""
    if not re.match(r'"[A-Z_0-9]+" "[\d.]+" \d', line):
        return None
    fields = [
        Field(quoted.replace('""', '"') if bare == "" else bare, bare == "")
        for quoted, bare in _FIELD.findall(line)
    ]
    if fields[0].text != "JOB_FINISH":
        return Record(fault=f"an event {fields[0].text}, which is not the end of a job")
    try:
        return _finished([field.text for field in fields], fields)
    except (IndexError, ValueError):
        return Record(fault="it was cut off, or its fields are not the fields of lsb.acct")


def _finished(texts: list[str], fields: list[Field]) -> Record:
    asked = int(texts[22])
    place = 23 + asked
    count = int(texts[place])
    names = [re.sub(r"^\d+\*", "", name) for name in texts[place + 1 : place + 1 + count]]
    hosts = list(dict.fromkeys(names))
    place += 1 + count
    status = int(texts[place])
    tail = place + 4 + _RUSAGE_FIELDS  # status, host factor, name, command, then resource usage
    project, exit_status = texts[tail + 1], int(texts[tail + 2])
    index = int(texts[tail + 6])
    termination = int(texts[tail + 15])
    requirement = _effective_requirement(fields, tail) or texts[13]
    per_host = max((int(n) for n in _GPUS.findall(requirement)), default=0)
    end_reason, job_status = _end(status, termination)
    started = moment_s(texts[10])
    return Record(
        event="ended",
        job=texts[3] + (f"[{index}]" if index else ""),
        vc=texts[12] or None,
        user=texts[11] or None,
        account=project or None,
        created_s=moment_s(texts[7]),
        eligible_s=max(filter(None, (moment_s(texts[7]), moment_s(texts[8]))), default=None),
        started_s=started,
        ended_s=moment_s(texts[2]),
        gpus=per_host * max(len(hosts), 1),
        cpus=whole(texts[6]),
        exit_code=_exit_code(exit_status),
        end_reason=end_reason if started else None,
        status=job_status,
        hosts=hosts or None,
        host_gpus=[per_host] * len(hosts) or None,
        gpu_indices=[None] * len(hosts) or None,
    )


def _effective_requirement(fields: list[Field], tail: int) -> str | None:
    """Return the resource requirement in force: the first text after the usage of each server.

    None if the version of LSF does not record the requirement.
    """
    try:
        place = tail + 30  # the number of submission extensions follows the job description
        place += 1 + 2 * int(fields[place].text)
        place += 1 + _HOST_USAGE_FIELDS * int(fields[place].text)
    except (IndexError, ValueError):  # versions before 9.1 have no such fields
        return None
    return next((field.text for field in fields[place : place + 6] if field.quoted), None)


def _end(status: int, termination: int) -> tuple[str | None, str | None]:
    """Return how the attempt ended, and the status of its job."""
    if status == _DONE:
        return "completed", "Pass"
    if status != _EXIT:
        return None, None
    reason = _TERMINATIONS.get(termination, "failed")
    return reason, _STATUS.get(reason, "Failed")


def _exit_code(wait_status: int) -> int:
    """Return the exit code as a shell counts it, from the status of wait(2)."""
    return 128 + (wait_status & 0x7F) if wait_status & 0x7F else wait_status >> 8
