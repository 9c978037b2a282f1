"""Percent-encode names that contain separators, quotes or line breaks of text formats."""

from urllib.parse import quote

import polars as pl

_UNCHANGED = r"^[A-Za-z0-9_.~:/-]*$"


def plain_names(names: pl.Series) -> pl.Series:
    """Return names with every other character percent-encoded as in a URL (RFC 3986).

    Letters, digits and ``_ . ~ : / -`` stay. Other characters, ``%`` included, become ``%XX`` by
    their UTF-8 bytes: different names stay different and can be decoded. An empty name is ``%``.
    """
    unique = names.unique()
    odd = unique.filter(~unique.str.contains(_UNCHANGED) | (unique == ""))
    if not odd.len():
        return names
    return names.replace(odd.to_list(), [quote(n, safe=":/") or "%" for n in odd.to_list()])
