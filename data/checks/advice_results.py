"""Count what the table of advised clusters shows.

    python -m data.checks.advice_results docs/measured/advice-clusters.csv

The counts are written beside the table, as ``advice-clusters-results.csv``.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd


def results(rows: pd.DataFrame) -> Iterator[tuple[str, int, int]]:
    """Yield what the rows show: words, number of logs, and of how many."""

    def counted(words: str, of: pd.DataFrame, column: str) -> tuple[str, int, int]:
        return words, int((of[column] == "True").sum()), len(of)

    right, card, realised = (rows[name] != "" for name in ("right", "card", "realised_h"))
    firsts = rows[right]
    first = [f in r.split(" or ") for f, r in zip(firsts["first"], firsts["right"], strict=True)]
    yield "the right lever is first", sum(first), len(first)
    cards, others = rows[card & realised], rows[~card & realised]
    yield counted("the realised gain of the card is in its interval", cards, "inside")
    for kind, of_kind in cards.groupby("scheduler", sort=False):
        yield counted(f"… {kind}", of_kind, "inside")
    words = "the realised gain of the first lever, without a card, is in its interval"
    yield counted(words, others, "inside")
    words = "a change with a card makes a gang size wait a quarter longer: in the following month"
    yield counted(words, cards, "harm")
    yield counted("… in five following months together", cards, "harm_5")
    yield "a card where no lever is right", int(card[~right].sum()), int((~right).sum())
    calm, part = (rows["scheduler"] == kind for kind in ("no waits", "part"))
    yield "nobody waits, and there is no card", int((~card[calm]).sum()), int(calm.sum())
    yield counted("a part of the log, and advice is withheld", rows[part], "withheld")
    whole = ~part
    yield counted("other logs, and advice on scheduling is withheld", rows[whole], "withheld")


def main() -> None:
    """Write the counts."""
    path = Path(sys.argv[1])
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    table = pd.DataFrame(results(rows), columns=["result", "logs", "of"])
    table.to_csv(path.with_name(f"{path.stem}-results.csv"), index=False)


if __name__ == "__main__":
    main()
