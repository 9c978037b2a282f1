"""Check the list of labelled excerpts of public issue threads, whose texts are not redistributed.

``excerpts.csv`` has the source of each, the first label, and one of a second reader who had not
seen the first ("": none). The id is "ex-" and the first ten digits of the text's SHA-256. The hash
of the project's name chose the half that no rule was written from until it was scored once, on
2026-11-24; rules have been corrected by it since, so neither half is unseen.
"""

from hashlib import sha256
from pathlib import Path

import pandas as pd

from philly_analysis.failures.reasons import tiers_of

EXCERPTS = pd.read_csv(Path(__file__).with_name("excerpts.csv"), keep_default_na=False)


def test_each_project_is_in_one_half_by_its_hash() -> None:
    for row in EXCERPTS.itertuples():
        project = str(row.source).partition("#")[0].lower().encode()
        odd = int(sha256(project).hexdigest(), 16) % 2
        assert row.half == ("scored" if odd else "dev"), row.source
    assert EXCERPTS["id"].is_unique and len(EXCERPTS) >= 400


def test_two_readers_agree_on_nineteen_of_twenty_labels() -> None:
    both = EXCERPTS[EXCERPTS["second_label"] != ""]
    assert (both["label"] == both["second_label"]).mean() > 0.95
    for label in {*EXCERPTS["label"], *both["second_label"]}:
        tiers_of(label)  # one of the reasons
