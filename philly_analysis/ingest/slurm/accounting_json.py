"""Reads what ``sacct --json`` prints, in the forms of its data parsers.

Numbers are plain or ``{set, infinite, number}``, states a word or a list of words, resources a
list of objects; each is turned into the text that sacct prints for it, so that one reading serves.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from philly_analysis.ingest.raw_file import objects
from philly_analysis.ingest.slurm.rejoin import Record

_NO_VALUE = tuple(map(str, (2**32 - 2, 2**32 - 1, 2**64 - 2, 2**64 - 1)))
"""Numbers that stand for none, and for no limit."""
_NUMBER = re.compile(r"[0-9]{1,30}(\.[0-9]{1,30})?")
_FLAGS = ("REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "RESIZING", "REVOKED", "SPECIAL_EXIT")
"""Flags of a state that come after it in a list: ``["PENDING", "REQUEUED"]``."""


def read_json(path: Path) -> Iterator[Record]:
    """Yield the job records of a file, each numbered by its place in it."""
    for place, job in enumerate(objects(path, "jobs"), 1):
        try:
            yield _record(place, job)
        except RecursionError:
            yield Record(place, "", {}, "the record is nested deeper than any of sacct's")


def _record(place: int, job: Any) -> Record:
    told = part(job)
    fields = {name: text for name, text in _fields(told).items() if text is not None}
    shown = {k: v for k, v in told.items() if k != "steps"} or job
    fault = None if told else "the record is no object"
    return Record(place, json.dumps(shown, separators=(",", ":")), fields, fault)


def part(value: Any) -> dict[str, Any]:
    """Return an object, or an empty one where something else stands in its place."""
    return value if isinstance(value, dict) else {}


def is_accounting(job: Any) -> bool:
    """Whether an object is a record of sacct; squeue prints other ones in a list of that name."""
    return all(isinstance(part(job).get(name), dict) for name in ("time", "state"))


def _fields(job: dict[str, Any]) -> dict[str, str | None]:
    time, state, tres, owner = (part(job.get(n)) for n in ("time", "state", "tres", "association"))
    word = _state(state.get("current"))
    by = job.get("kill_request_user")
    limit = time.get("limit")
    return {
        "jobidraw": number(job.get("job_id")),
        "jobid": _shown_id(job),
        "cluster": _text(job.get("cluster") or owner.get("cluster")),
        "partition": _text(job.get("partition")),
        "qos": _text(job.get("qos")),
        "account": _text(job.get("account") or owner.get("account")),
        "user": _text(job.get("user") or owner.get("user")),
        "state": f"{word} by {by}" if by and word == "CANCELLED" else word,
        "exitcode": _exit_code(part(job.get("exit_code")), word),
        "submit": _moment(time.get("submission")),
        "eligible": _moment(time.get("eligible")),
        "start": _moment(time.get("start")),
        "end": _moment(time.get("end")),
        "elapsedraw": number(time.get("elapsed")),
        "timelimitraw": number(limit),
        "suspended": number(time.get("suspended")),
        "ncpus": number(part(job.get("required")).get("CPUs")),
        "reqtres": _resources(tres.get("requested")),
        "alloctres": _resources(tres.get("allocated")),
        "nodelist": _text(job.get("nodes")),
        "reason": _text(state.get("reason")),
        "admincomment": _text(part(job.get("comment")).get("administrator")),
    }


def _text(value: Any) -> str | None:
    return None if value is None or isinstance(value, dict | list) else str(value)


def number(value: Any) -> str | None:
    """Return a number as text; None where it is not set, negative or infinite."""
    if isinstance(value, dict):
        sound = value.get("set", True) and not value.get("infinite", False)
        value = value.get("number") if sound else None
    text = "" if value is None or isinstance(value, bool) else str(value)
    if not _NUMBER.fullmatch(text) or text in _NO_VALUE:
        return None
    return text


def _state(value: Any) -> str | None:
    """Return the state that sacct prints: a flag of one, where a record ended for it."""
    words = value if isinstance(value, list) else [value]
    return next((str(word) for word in words if word in _FLAGS), word_of(words))


def _moment(value: Any) -> str | None:
    text = number(value)
    return None if text == "0" else text


def word_of(value: Any) -> str | None:
    """Return a word, the first of a list of them."""
    words = value if isinstance(value, list) else [value]
    return next((str(word) for word in words if word), None)


def _shown_id(job: dict[str, Any]) -> str | None:
    array, het = part(job.get("array")), part(job.get("het"))
    for group, member, sign in ((array, "task_id", "_"), (het, "job_offset", "+")):
        leader, index = number(group.get("job_id")), number(group.get(member))
        if leader and leader != "0":
            if index is not None:
                return f"{leader}{sign}{index}"
            if group is array:
                return f"{leader}_[{group.get('task') or ''}]"
    return number(job.get("job_id"))


def _exit_code(code: dict[str, Any], state: str | None) -> str | None:
    """Return code and signal as sacct prints them."""
    signal = part(code.get("signal"))
    caught = number(signal.get("id", signal.get("signal_id"))) or "0"
    returned = number(code.get("return_code")) or "0"
    if code.get("status") == "SUCCESS" and state != "COMPLETED":
        # Slurm 22.05 says so, in one word, of jobs that returned something else
        return None
    if float(returned) >= 128:
        # which sacct takes for a signal
        returned = str(int(float(returned)) - 128)
    return f"{returned}:{caught}"


def _resources(listed: Any) -> str | None:
    """Return resources as sacct prints them: ``cpu=8,gres/gpu:a100=4,gres/gpu=4,mem=500M``."""
    if not isinstance(listed, list):
        return None
    parts = []
    for resource in map(part, listed):
        count = number(resource.get("count"))
        if count and count != "0":
            name = f"/{resource['name']}" if resource.get("name") else ""
            unit = "M" if resource.get("type") == "mem" else ""
            parts.append(f"{resource.get('type')}{name}={count}{unit}")
    return ",".join(parts) or None
