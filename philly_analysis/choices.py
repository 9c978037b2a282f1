"""What may be typed where: names with what they mean, looked up when help or a shell asks."""

from typing import Any

import philly_analysis as library

Choices = list[tuple[str, str]]


def sources() -> Choices:
    """List sources of raw logs, and what each reads."""
    return _pairs(library.sources(), "source", "reads")


def maps() -> Choices:
    """List maps of tables that ship, and what each reads."""
    from philly_analysis.ingest.table.table_map import SHIPPED, load_map

    return [(p.stem, load_map(p.stem).what) for p in sorted(SHIPPED.glob("*.toml"))]


def analyses() -> Choices:
    """List analyses, and the question of each."""
    from philly_analysis.chapters import ANALYSES

    return [(name, analysis.QUESTION) for name, analysis in ANALYSES.items()]


def families() -> Choices:
    """List families of distributions, and the parameters of each."""
    from philly_analysis.laws.distribution import EMPIRICAL, EMPIRICAL_PARAMETERS
    from philly_analysis.laws.families import FAMILIES

    names = {name: family.names for name, family in FAMILIES.items()}
    return [(n, ", ".join(p)) for n, p in (names | {EMPIRICAL: EMPIRICAL_PARAMETERS}).items()]


def models() -> Choices:
    """List models that ship, and what each was fitted to."""
    return _pairs(library.models(), "model", "fitted_on")


def formats() -> Choices:
    """List export formats, and who reads the default dialect of each."""
    return _pairs(library.formats().drop_duplicates("format"), "format", "reader")


def dialects() -> Choices:
    """List dialects of export formats, and who reads each."""
    known = library.formats()
    known = known[known["format"].duplicated(keep=False)]
    return _pairs(known.assign(of=known["format"] + ": " + known["reader"]), "dialect", "of")


def policies() -> Choices:
    """List scheduling policies, and what each does."""
    return _pairs(library.policies(), "policy", "what")


def speeds() -> Choices:
    """List laws of how fast jobs run, and what each takes into account."""
    from philly_analysis.simulator.speed import SPEEDS

    return [(name, speed().says) for name, speed in SPEEDS.items()]


def experiments() -> Choices:
    """List experiments, and what each asks."""
    from philly_analysis.experiments import EXPERIMENTS

    return [(name, experiment.QUESTION) for name, experiment in EXPERIMENTS.items()]


def _pairs(frame: Any, name: str, meaning: str) -> Choices:
    return list(zip(frame[name], frame[meaning], strict=True))
