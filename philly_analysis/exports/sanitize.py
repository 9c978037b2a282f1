"""Names that no separator, quote or line break of a text format can break."""

from urllib.parse import quote

import polars as pl

_PLAIN = r"^[A-Za-z0-9_.~:/-]*$"
SAFE = r"[A-Za-z0-9_.~:/%-]+"
"""Pattern of a name as :func:`safe` returns it."""


def safe(names: pl.Series) -> pl.Series:
    """Return names with every other character percent-encoded as in a URL (RFC 3986).

    Letters, digits and ``_ . ~ : / -`` stay; all else, ``%`` included, becomes ``%XX`` by its
    UTF-8 bytes, so different names stay different and can be decoded. An empty name is ``%``.
    """
    unique = names.unique()
    odd = unique.filter(~unique.str.contains(_PLAIN) | (unique == ""))
    if not odd.len():
        return names
    return names.replace(odd.to_list(), [quote(n, safe=":/") or "%" for n in odd.to_list()])
