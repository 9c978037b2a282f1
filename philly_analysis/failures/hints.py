"""Find the lines of texts that contain words of signatures, few lines of each kind."""

from typing import TYPE_CHECKING, NamedTuple

from philly_analysis.failures.lines import Lines
from philly_analysis.failures.signature import rules_by_hint

if TYPE_CHECKING:
    import polars as pl

HINTED_LINES = 10_000  # lines with hints that are read at each end of a longer log
ALIKE_LINES = 100  # lines with equal hints that are searched at each end
ALIKE_CHARS = 10_000  # characters of alike lines that are read, which limits long lines
MOST_LINES = 4_000  # lines searched in all, from both ends of each kind
REPETITIVE_CHARS = 500  # mean length above which lines repeat the same hints in other orders


class Hinted(NamedTuple):
    """A piece with hints of signatures: its index in its text, the piece, and the hints."""

    at: int
    piece: str
    hints: frozenset[str]


def find_hinted(lines: Lines) -> list[list[Hinted]]:
    """Return for each text the pieces that contain a hint of any signature."""
    import polars as pl

    hints, piece = list(rules_by_hint()), pl.col("piece").str
    # lower-casing the text is faster than a search that ignores case
    candidates = lines.table.select("index", "text", piece.to_lowercase())
    if len(candidates) > 2 * HINTED_LINES:
        candidates = candidates.filter(piece.contains_any(hints))
        candidates = candidates.filter(_ends(pl.lit(HINTED_LINES)).over("text"))
    candidates = candidates.select(
        "index", "text", hints=piece.extract_many(hints, overlapping=True), chars=piece.len_chars()
    ).filter(pl.col("hints").list.len() > 0)
    words = pl.col("hints")
    if candidates["chars"].sum() > REPETITIVE_CHARS * len(candidates):
        words = words.list.eval(pl.element().unique().sort())
    candidates = candidates.with_columns(
        kind=pl.concat_str("text", words.list.join("\n"), separator=" ")
    )
    candidates = candidates.filter(_ends(pl.lit(ALIKE_LINES), pl.col("chars")).over("kind"))
    if len(candidates) > MOST_LINES:
        of_each = (MOST_LINES // (2 * pl.col("kind").n_unique())).clip(1)
        candidates = candidates.with_columns(
            pl.when(pl.len() > MOST_LINES).then(of_each).over("text").alias("lines")
        )
        kept = pl.col("lines").is_null() | _ends(pl.col("lines")).over("kind")
        candidates = candidates.filter(kept)
    candidates = candidates.with_columns(piece=lines.pieces.gather(candidates["index"]))
    hinted: list[list[Hinted]] = [[] for _ in lines.starts[1:]]
    for text, index, original, words_hinted in candidates.select(
        "text", "index", "piece", "hints"
    ).iter_rows():
        hinted[text].append(Hinted(index - lines.starts[text], original, frozenset(words_hinted)))
    return hinted


def hints_in(line: str) -> frozenset[str]:
    """Return the hints that a line contains."""
    lower = line.lower()
    return frozenset(hint for hint in rules_by_hint() if hint in lower)


def _ends(lines: "pl.Expr", chars: "pl.Expr | None" = None) -> "pl.Expr":
    """Select the first and the last rows of a group, of limited characters."""
    import polars as pl

    ends = []
    for back in (False, True):
        end = pl.col("index").cum_count(reverse=back) <= lines
        if chars is not None:
            end &= chars.cum_sum(reverse=back) <= ALIKE_CHARS
        ends.append(end)
    return pl.any_horizontal(ends)
