"""Check the mapping to the categories of other studies."""

import pytest

from philly_analysis import classify
from philly_analysis.failures import REASONS, signatures
from philly_analysis.failures.taxonomies import TAXONOMIES, categories_of


@pytest.mark.parametrize("study", TAXONOMIES)
def test_the_mapping_uses_reasons_and_fine_labels_of_this_package(study: str) -> None:
    of = TAXONOMIES[study]
    assert of["source"].startswith("https://")
    assert of["reason"].keys() <= {reason.name for reason in REASONS} - {"No signature"}
    assert of["fine"].keys() <= {rule.fine for rule in signatures()} - {"", "benign"}


def test_a_fine_label_decides_before_the_reason() -> None:
    nvlink = {"acme": "NVLink Error", "llama3": "Faulty GPU", "meta_rsc": "GPU NVLink Error"}
    assert categories_of("CUDA failure", "nvlink_error") == nvlink
    assert categories_of("CUDA failure", "")["acme"] == "CUDA Error"
    assert categories_of("No signature", "benign") == dict.fromkeys(TAXONOMIES, "")


def test_classify_adds_the_categories_of_other_studies() -> None:
    text = "NVRM: Xid (PCI:0000:3b:00): 48, pid=1\n"
    row = classify(text=text, taxonomies=True).table.iloc[0]
    assert (row["acme"], row["llama3"]) == ("ECC Error", "GPU HBM3 Memory")
    assert row["meta_rsc"] == "GPU Memory Errors"
    assert "acme" not in classify(text=text).table
