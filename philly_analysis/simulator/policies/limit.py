"""Describe a limit on the running jobs of an account, user, QOS or partition."""

from typing import NamedTuple

from philly_analysis.trace import Trace


class Limit(NamedTuple):
    """A limit on what running jobs hold together, as in the table ``limits`` of a trace."""

    name: str
    account: str | None
    user: str | None
    qos: str | None
    vc: str | None
    per: str | None
    resource: str
    amount: float


def recorded_limits(trace: Trace) -> tuple[Limit, ...]:
    """Return the limits of a trace's table ``limits``; none without the table."""
    if "limits" not in trace.tables:
        return ()
    rows = trace.sql(
        'select name, account, "user", qos, vc, per, resource, amount from limits order by all'
    ).fetchall()
    return tuple(Limit(*row) for row in rows)
