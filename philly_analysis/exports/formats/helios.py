"""Inputs of Helios' simulator (SC'21): its Philly mode and logs of its own kind."""

import pickle
from datetime import datetime
from functools import partial

from philly_analysis.exports.codec import Codec, Content, Notes, delimited, read_format
from philly_analysis.exports.formats.cluster_log import LGB, Mode
from philly_analysis.exports.request import Request

LOG, VC_SIZES = "cluster_log.csv", "vc_dict_homo.pkl"

_OCTOBER = datetime(2017, 10, 1)
_PHILLY = Mode(_OCTOBER, _OCTOBER, datetime(2017, 11, 30, 23, 59), "philly")
_NATIVE = Mode(datetime(2020, 4, 1), datetime(2020, 7, 1), datetime(2020, 7, 31, 23, 59))


def _content(request: Request, mode: Mode) -> Content:
    rows, assumed = mode.rows(request)
    sizes = pickle.dumps(mode.nodes(request), protocol=4)
    return Content(
        {LOG: rows, LGB: rows}, mode.accepted(request, rows), Notes(assumed), {VC_SIZES: sizes}
    )


def _codec(mode: Mode) -> Codec:
    return delimited(partial(_content, mode=mode))


HELIOS = read_format("helios", helios=_codec(_PHILLY), native=_codec(_NATIVE))
