"""Inputs of Helios' simulator (SC'21): its Philly mode and logs of its own kind."""

import pickle
from datetime import datetime
from functools import partial
from pathlib import Path

from philly_analysis.exports.codec import Codec, Content, Notes, Written, delimited, read_format
from philly_analysis.exports.formats.cluster_log import LGB, Mode
from philly_analysis.exports.request import Request

LOG, VC_SIZES = "cluster_log.csv", "vc_dict_homo.pkl"

_OCTOBER = datetime(2017, 10, 1)
_PHILLY = Mode(_OCTOBER, _OCTOBER, datetime(2017, 11, 30, 23, 59), "philly")
_NATIVE = Mode(datetime(2020, 4, 1), datetime(2020, 7, 1), datetime(2020, 7, 31, 23, 59))


def _content(request: Request, mode: Mode) -> Content:
    rows, assumed = mode.rows(request)
    sizes = pickle.dumps(mode.nodes(request), protocol=4)
    return Content({LOG: rows, LGB: rows}, Notes(assumed), {VC_SIZES: sizes})


class _PlainUnpickler(pickle.Unpickler):
    """Unpickle numbers, text and dictionaries, and refuse anything that would run code."""

    def find_class(self, module: str, name: str) -> object:
        raise pickle.UnpicklingError(f"{module}.{name} is not a plain value")


def _sizes(path: Path) -> object:
    with path.open("rb") as file:
        try:
            return _PlainUnpickler(file).load()
        except (pickle.UnpicklingError, EOFError, ValueError, KeyError, IndexError) as error:
            return error


def _check(file: Written, mode: Mode) -> list[str]:
    sizes = _sizes(file.path.with_name(VC_SIZES))
    if not isinstance(sizes, dict) or not all(
        isinstance(vc, str) and type(n) is int and n > 0 for vc, n in sizes.items()
    ):
        return [f"{VC_SIZES}: not a dictionary of nodes by virtual cluster: {sizes!r}"]
    return mode.check(file, list(sizes), VC_SIZES)


def _codec(mode: Mode) -> Codec:
    return delimited(partial(_content, mode=mode), mode.accepted, partial(_check, mode=mode))


HELIOS = read_format("helios", helios=_codec(_PHILLY), native=_codec(_NATIVE))
