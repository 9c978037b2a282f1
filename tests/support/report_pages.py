"""Generate one small page of each kind, with the figures drawn for it."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from philly_analysis import (
    advise,
    atlas,
    compare,
    experiment,
    forecast,
    ingest,
    load_model,
    report,
    sweep,
)
from philly_analysis.experiments import EXPERIMENTS
from philly_analysis.results import figures
from tests.ingest import kueue_cluster, kueue_snapshots
from tests.support.repository import SAMPLE

PRINTED = Path(__file__).parents[1] / "ingest" / "slurm_output"
KINDS = (
    *("sample", "entries", "slurm", "kubernetes", "compare", "sweep", "conclusions", "atlas"),
    *("advise", "model", "forecast"),
    *EXPERIMENTS,
)
_FEW = {"synergy": {"jobs": 300, "window": (150, 250)}}
"""Jobs of an experiment for which a hundred are too few."""


@dataclass
class Pages:
    """Pages by kind, each generated on first use."""

    folder: Path

    def __post_init__(self) -> None:
        self._made: dict[str, tuple[Path, list[Figure]]] = {}

    def page(self, kind: str) -> Path:
        """Return the page of a kind."""
        return self._of(kind)[0]

    def figures(self, kind: str) -> list[Figure]:
        """Return the figures on the page of a kind."""
        return self._of(kind)[1]

    def _of(self, kind: str) -> tuple[Path, list[Figure]]:
        if kind not in self._made:
            drawn: list[Figure] = []
            render = figures.svg

            def recording(fig: Figure) -> str:
                drawn.append(fig)
                return render(fig)

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(figures, "svg", recording)
                self._made[kind] = self._make(kind, patch), drawn
        return self._made[kind]

    def _make(self, kind: str, patch: pytest.MonkeyPatch) -> Path:
        out = self.folder / "reports"
        if kind in EXPERIMENTS:
            usual = EXPERIMENTS[kind]
            few: dict[str, Any] = {"jobs": 100, "seeds": (1, 2, 3), **_FEW.get(kind, {})}
            small = replace(usual, sweep=replace(usual.sweep, **few))
            patch.setitem(EXPERIMENTS, kind, small)
            experiment([kind], out=out)
            return out / kind / "report.html"
        if kind == "conclusions":
            of = ("philly", "itp-04")
            months = [load_model(m).sample(jobs=60, gpus=64, seeds=(1, 2, 3)) for m in of]
            experiment([kind], models=months, seeds=3, out=out)
            return out / kind / "report.html"
        if kind in ("sample", "slurm", "kubernetes"):
            return report(self.trace(kind), out).path
        if kind == "entries":
            return self.page("sample").parent / "entries.html"
        if kind == "advise":
            advise(self.trace("sample"), out / kind, months=0)
            return out / kind / "report.html"
        if kind == "forecast":
            forecast(self.trace("sample"), out / kind, gpus=8)
            return out / kind / "report.html"
        if kind == "model":
            return report("itp-04", out).path
        two = [self.trace("sample"), self.trace("slurm")]
        if kind == "atlas":
            atlas(two, out / kind)
            return out / kind / "atlas.html"
        if kind == "compare":
            compare(two, findings=("queueing_delay", "usage"), out=out / kind)
            return out / kind / "report.html"
        sweep(
            ["literature", "philly"],
            ["fifo", "srtf", "tiresias"],
            out / kind,
            loads=(0.7, 1.0),
            seeds=range(3),
            jobs=100,
            cluster=64,
        )
        return out / kind / "page" / "report.html"

    def trace(self, kind: str) -> Path:
        """Return the trace of a kind of page, ingested on first use."""
        trace = self.folder / kind
        if trace.exists():
            return trace
        if kind == "sample":
            output, quotas = SAMPLE / "failed-output", SAMPLE / "quotas.csv"
            ingest("philly", SAMPLE, trace, failures=output, quotas=quotas)
        elif kind == "kubernetes":
            cluster = kueue_cluster.simulated(seed=5)
            raw = kueue_snapshots.write(self.folder / "kueue", cluster, 1800, "v1beta2", typed=True)
            ingest("kubernetes", raw, trace)
        else:
            ingest("slurm", PRINTED / "wide_D.txt.gz", trace)
        return trace
