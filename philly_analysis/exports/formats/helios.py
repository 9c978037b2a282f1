"""Inputs of Helios' simulator (SC'21): its Philly mode and logs of its own kind."""

import pickle
from datetime import datetime
from pathlib import Path

from philly_analysis.exports.format import Dialect, Format, Program, Written
from philly_analysis.exports.formats.cluster_log import (
    APRIL,
    KINDS,
    LGB,
    NAMED,
    NOT_CARRIED,
    STATES,
    Mode,
    Window,
    early,
    estimates,
    layout,
    shared,
    simulate,
)
from philly_analysis.exports.layout import NAME, Field, broken
from philly_analysis.exports.request import Request
from philly_analysis.study import STATUSES

LOG, VC_SIZES = "cluster_log.csv", "vc_dict_homo.pkl"

_PHILLY = Mode(
    layout(Field("jobname", NAME), *shared(STATUSES), key="jobname"),
    Window(datetime(2017, 10, 1), datetime(2017, 10, 1), datetime(2017, 11, 30, 23, 59)),
    "philly",
)
_NATIVE = Mode(
    layout(*NAMED, *shared(tuple(STATES.values())), key="job_id"),
    Window(APRIL, datetime(2020, 7, 1), datetime(2020, 7, 31, 23, 59)),
    "",
)


def _write(request: Request, folder: Path, mode: Mode) -> Written:
    rows, assumed = mode.rows(request)
    mode.log.write(rows, folder / LOG)
    nodes = mode.nodes(request)
    sizes = dict(zip(nodes["vc"].to_list(), nodes["nodes"].to_list(), strict=True))
    (folder / VC_SIZES).write_bytes(pickle.dumps(sizes, protocol=4))
    estimates(mode.log.unique).write(rows, folder / LGB)
    return Written(jobs=request.jobs.height, assumed=(*assumed, *mode.nodes_said(request)))


class _Plain(pickle.Unpickler):
    """Reads numbers, text and dictionaries, and refuses anything that would run code."""

    def find_class(self, module: str, name: str) -> object:
        raise pickle.UnpicklingError(f"{module}.{name} is not a plain value")


def _sizes(path: Path) -> object:
    with path.open("rb") as file:
        try:
            return _Plain(file).load()
        except (pickle.UnpicklingError, EOFError, ValueError, KeyError, IndexError) as error:
            return error


def _faults(folder: Path, mode: Mode) -> list[str]:
    found = [
        *mode.log.faults(folder / LOG),
        *estimates(mode.log.unique).faults(folder / LGB),
    ]
    sizes = _sizes(folder / VC_SIZES)
    if not isinstance(sizes, dict) or not all(
        isinstance(vc, str) and type(n) is int and n > 0 for vc, n in sizes.items()
    ):
        return [*found, f"{VC_SIZES}: not a dictionary of nodes by virtual cluster: {sizes!r}"]
    if found:
        return found
    rows = mode.log.read(folder / LOG)
    unknown = ~rows["vc"].is_in(list(sizes))
    return broken(folder / LOG, rows["vc"], unknown, f"virtual cluster that {VC_SIZES} lacks") + (
        early(folder / LOG, rows, mode.window)
    )


def _dialect(name: str, mode: Mode, what: str, experiment: str) -> Dialect:
    key = "Philly" if mode is _PHILLY else experiment
    return Dialect(
        name=name,
        program=Program(
            f"Helios' simulator, -e {experiment}",
            source="S-Lab-System-Group/HeliosArtifact bdaae10",
            needs="Python 3.9, pandas 1.5",
            command="git clone https://github.com/S-Lab-System-Group/HeliosArtifact\n"
            'cd "HeliosArtifact/framework/QSSF Service" && git checkout bdaae10\n'
            f"cp $$OUT/{LGB} estimators/{key}_lgb.csv\n"
            + simulate(f"-e {experiment} -t $$OUT -p consolidate --sweep"),
            rules=mode.rules,
        ),
        carries=f"submission, run time, gang size, status, user, estimated run times, {what}",
        write=lambda request, folder: _write(request, folder, mode),
        taken=lambda request, folder: mode.taken(request, folder / LOG),
        faults=lambda folder, _: _faults(folder, mode),
        not_carried=(*NOT_CARRIED, "virtual clusters") if mode.vc else NOT_CARRIED,
        folder=True,
        estimates=KINDS,
    )


HELIOS = Format(
    "helios",
    (
        _dialect("helios", _PHILLY, "nodes", "Philly"),
        _dialect("native", _NATIVE, "virtual clusters and their nodes, CPUs", "Export_July"),
    ),
)
