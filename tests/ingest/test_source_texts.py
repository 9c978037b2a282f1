"""Check that texts use the words of a source, and leave names of the log alone."""

import pytest

from philly_analysis.ingest import in_words, words_of


@pytest.mark.parametrize(
    ("source", "text", "said"),
    [
        ("slurm", "Virtual cluster a: 2 gangs.", "Partition a: 2 jobs."),
        ("slurm", "A gang waits; larger gangs wait longer", "A job waits; larger jobs wait longer"),
        ("slurm", "by virtual cluster and gang size", "by partition and job size"),
        ("kubernetes", "Users and accounts", "Users and namespaces"),
        ("kubernetes", "virtual clusters", "cluster queues"),
        ("pbs", "virtual clusters", "queues"),
        ("philly", "a gang of a virtual cluster", "a gang of a virtual cluster"),
        ("slurm", "gang_size gang-7 a/gang gang.example gangster", None),
        ("kubernetes", "Every row is accounted for", None),
    ],
)
def test_terms_are_words_of_the_source(source: str, text: str, said: str | None) -> None:
    assert in_words(words_of(source), text) == (said or text)
