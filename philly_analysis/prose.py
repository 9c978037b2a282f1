"""Words for numbers, as sentences and captions use them."""

_UNITS_S = (
    (604_800, "weeks", 2), (86_400, "days", 2), (3_600, "h", 2), (60, "min", 1), (1, "s", 1),
)  # fmt: skip


def duration(seconds: float) -> str:
    """Say a duration in the largest unit of which it holds at least one (two from hours on)."""
    for size, unit, least in _UNITS_S:
        if abs(seconds) >= least * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.2g} s"


def share(frac: float) -> str:
    """Say a fraction from 0 to 1 as a percentage."""
    pct = 100 * frac
    digits = 0 if pct in (0, 100) else 1 if 0.1 <= pct <= 99.9 else 2
    return f"{pct:.{digits}f} %"


def count(n: int, singular: str, plural: str | None = None) -> str:
    """Say how many there are of something."""
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"


def slug(group: str) -> str:
    """Return a gang bucket as it stands in the name of a fact: ``>8`` is ``over_8``."""
    return group.replace("-", "_").replace(">", "over_")


def gpus(gang: str) -> str:
    """Say a gang bucket: ``1 GPU``, ``2-4 GPUs``."""
    return f"{gang} GPU" if gang == "1" else f"{gang} GPUs"
