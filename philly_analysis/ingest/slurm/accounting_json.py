"""Read ``sacct --json``, in the formats of its data parsers.

Numbers are plain or ``{set, infinite, number}``, states a word or a list of words, resources a
list of objects; each value is converted to the text that sacct prints for the value.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from philly_analysis.ingest.raw_file import json_items
from philly_analysis.ingest.slurm.rejoin import Record

_NO_VALUE = tuple(map(str, (2**32 - 2, 2**32 - 1, 2**64 - 2, 2**64 - 1)))
"""Numbers for a missing value and for no limit."""
_NUMBER = re.compile(r"[0-9]{1,30}(\.[0-9]{1,30})?")
_FLAGS = ("REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "RESIZING", "REVOKED", "SPECIAL_EXIT")
"""Flags that follow a state in a list: ``["PENDING", "REQUEUED"]``."""


def read_json(path: Path) -> Iterator[Record]:
    """Yield the job records of a file, numbered from 1."""
    for number, job in enumerate(json_items(path, "jobs"), 1):
        try:
            yield _record(number, job)
        except RecursionError:
            yield Record(number, "", {}, "the record is nested deeper than any of sacct's")


def _record(number: int, job: Any) -> Record:
    values = as_object(job)
    fields = {name: text for name, text in _fields(values).items() if text is not None}
    raw = {k: v for k, v in values.items() if k != "steps"} or job
    fault = None if values else "the record is no object"
    return Record(number, json.dumps(raw, separators=(",", ":")), fields, fault)


def as_object(value: Any) -> dict[str, Any]:
    """Return an object, or an empty one for any other value."""
    return value if isinstance(value, dict) else {}


def is_accounting(job: Any) -> bool:
    """Whether an object is a record of sacct; lists of squeue have the same name."""
    return all(isinstance(as_object(job).get(name), dict) for name in ("time", "state"))


def _fields(job: dict[str, Any]) -> dict[str, str | None]:
    time, state, tres, owner = (
        as_object(job.get(n)) for n in ("time", "state", "tres", "association")
    )
    name = _state(state.get("current"))
    by = job.get("kill_request_user")
    return {
        "jobidraw": number_text(job.get("job_id")),
        "jobid": _job_id(job),
        "cluster": _text(job.get("cluster") or owner.get("cluster")),
        "partition": _text(job.get("partition")),
        "qos": _text(job.get("qos")),
        "account": _text(job.get("account") or owner.get("account")),
        "user": _text(job.get("user") or owner.get("user")),
        "state": f"{name} by {by}" if by and name == "CANCELLED" else name,
        "exitcode": _exit_code(as_object(job.get("exit_code")), name),
        "submit": _time(time.get("submission")),
        "eligible": _time(time.get("eligible")),
        "start": _time(time.get("start")),
        "end": _time(time.get("end")),
        "elapsedraw": number_text(time.get("elapsed")),
        "timelimitraw": number_text(time.get("limit")),
        "suspended": number_text(time.get("suspended")),
        "ncpus": number_text(as_object(job.get("required")).get("CPUs")),
        "reqtres": _resources(tres.get("requested")),
        "alloctres": _resources(tres.get("allocated")),
        "nodelist": _text(job.get("nodes")),
        "reason": _text(state.get("reason")),
        "admincomment": _text(as_object(job.get("comment")).get("administrator")),
    }


def _text(value: Any) -> str | None:
    return None if value is None or isinstance(value, dict | list) else str(value)


def number_text(value: Any) -> str | None:
    """Return a number as text; None if it is not set, negative or infinite."""
    if isinstance(value, dict):
        is_set = value.get("set", True) and not value.get("infinite", False)
        value = value.get("number") if is_set else None
    text = "" if value is None or isinstance(value, bool) else str(value)
    if not _NUMBER.fullmatch(text) or text in _NO_VALUE:
        return None
    return text


def _state(value: Any) -> str | None:
    """Return the state that sacct prints: a flag, if the flag tells why the record ended."""
    words = value if isinstance(value, list) else [value]
    return next((str(word) for word in words if word in _FLAGS), first_word(words))


def _time(value: Any) -> str | None:
    text = number_text(value)
    return None if text == "0" else text


def first_word(value: Any) -> str | None:
    """Return a word, or the first word of a list."""
    words = value if isinstance(value, list) else [value]
    return next((str(word) for word in words if word), None)


def _job_id(job: dict[str, Any]) -> str | None:
    array, het = as_object(job.get("array")), as_object(job.get("het"))
    for group, member, sign in ((array, "task_id", "_"), (het, "job_offset", "+")):
        leader, index = number_text(group.get("job_id")), number_text(group.get(member))
        if leader and leader != "0":
            if index is not None:
                return f"{leader}{sign}{index}"
            if group is array:
                return f"{leader}_[{group.get('task') or ''}]"
    return number_text(job.get("job_id"))


def _exit_code(code: dict[str, Any], state: str | None) -> str | None:
    """Return code and signal as sacct prints them."""
    signal = as_object(code.get("signal"))
    caught = number_text(signal.get("id", signal.get("signal_id"))) or "0"
    returned = number_text(code.get("return_code")) or "0"
    if code.get("status") == "SUCCESS" and state != "COMPLETED":
        # Slurm 22.05 prints SUCCESS for jobs that returned another code
        return None
    if float(returned) >= 128:
        # sacct reads these as signals
        returned = str(int(float(returned)) - 128)
    return f"{returned}:{caught}"


def _resources(listed: Any) -> str | None:
    """Return resources as sacct prints them: ``cpu=8,gres/gpu:a100=4,gres/gpu=4,mem=500M``."""
    if not isinstance(listed, list):
        return None
    parts = []
    for resource in map(as_object, listed):
        count = number_text(resource.get("count"))
        if count and count != "0":
            name = f"/{resource['name']}" if resource.get("name") else ""
            unit = "M" if resource.get("type") == "mem" else ""
            parts.append(f"{resource.get('type')}{name}={count}{unit}")
    return ",".join(parts) or None
