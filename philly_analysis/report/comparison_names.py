"""Name the traces of a comparison, and find the policy of a what-if."""

import re
from collections.abc import Sequence

from philly_analysis.results import unique_names
from philly_analysis.trace import Trace, is_selected

_SIMULATED = re.compile(r"Simulated under (\S+)(?: \(([^()]*)\))? on ")
"""Note of a what-if on its policy and the policy's knobs."""


def trace_names(traces: Sequence[Trace]) -> list[str]:
    """Return a distinct name for each trace: its folder, and of a what-if its policy.

    A policy that the folder's name has is not repeated. Knobs are named where they differ between
    what-ifs under one policy. Equal folder names get the parent folder's, and remaining equal
    names a number.
    """
    folders = [
        t.manifest.name if is_selected(t.manifest) else t.path.name  # a subset's path is temporary
        for t in traces
    ]
    apart = len({trace.path for trace in traces}) == len(traces)
    folders = [
        f"{trace.path.parent.name}/{name}" if apart and folders.count(name) > 1 else name
        for trace, name in zip(traces, folders, strict=True)
    ]
    under = [_policy(trace) for trace in traces]
    names = []
    for folder, (policy, knobs) in zip(folders, under, strict=True):
        rivals = [others for name, others in under if name == policy]
        differing = [k for k in knobs if any(k not in others for others in rivals)]
        label = ", ".join([policy, *differing]) if policy else ""
        named = re.search(rf"\b{re.escape(label)}\b", folder)
        names.append(folder if named else f"{folder} ({label})")
    return unique_names(names)


def _policy(trace: Trace) -> tuple[str, tuple[str, ...]]:
    """Return the policy and the knobs under which a trace was simulated; empty if it was not."""
    for note in trace.manifest.notes:
        if match := _SIMULATED.match(note):
            return match[1], tuple(filter(None, (match[2] or "").split(", ")))
    return "", ()
