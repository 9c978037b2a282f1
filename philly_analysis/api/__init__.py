"""Public functions of the package, from which the command line is made.

Positional parameters are arguments of the command, keyword-only parameters are its options, and
the first sentence on a parameter is its help; commands in a docstring are its examples. The
first type of an annotation is the type that the command line parses. Functions import the packages
that do the work, so that importing this package is fast.
"""

from collections.abc import Callable
from typing import Any

from philly_analysis.api.findings import (
    analyses,
    analyze,
    atlas,
    compare,
    demo,
    published,
    report,
    summary,
)
from philly_analysis.api.logs import (
    classify,
    datasets,
    fetch,
    ingest,
    kubectl_command,
    slurm_collect,
    slurm_command,
    sources,
)
from philly_analysis.api.outlooks import forecast, reliability
from philly_analysis.api.traces import query, tables, verify
from philly_analysis.api.what_ifs import advise, experiment, policies, simulate, sweep
from philly_analysis.api.workloads import export, fit, formats, models, sample

TOPICS: dict[str, tuple[Callable[..., Any], ...]] = {
    "Get data": (ingest, slurm_command, slurm_collect, kubectl_command, fetch, demo),
    "Look": (summary, report, analyze, query, tables, verify, compare, classify, atlas),
    "Expect": (forecast, reliability),
    "Model": (fit, sample, export),
    "What if": (simulate, sweep, advise, experiment),
    "Reference": (sources, datasets, analyses, published, models, formats, policies),
}
"""The verbs by topic, in the order of the command line's help."""

VERBS = tuple(verb for verbs in TOPICS.values() for verb in verbs)
"""All verbs."""
