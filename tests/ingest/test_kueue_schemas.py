"""Validate the simulated objects against Kueue's published schemas, where a copy is at hand.

The schemas are ``config/components/crd/bases/`` of kubernetes-sigs/kueue (Apache-2.0). They are not
part of this project: the environment variable ``KUEUE_CRDS`` names a folder with a copy.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml  # type: ignore[import-untyped]

from tests.ingest import kueue_snapshots as kueue
from tests.ingest.kueue_cluster import simulated

CRDS = Path(os.environ.get("KUEUE_CRDS", "crds"))
KINDS = {"Workload": "workloads", "ClusterQueue": "clusterqueues", "LocalQueue": "localqueues"}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (CRDS / "kueue.x-k8s.io_workloads.yaml").is_file(),
        reason="KUEUE_CRDS names no folder with config/components/crd/bases/ of kueue",
    ),
]


def strict(schema: Any) -> Any:
    """Return a schema that refuses fields that it does not list, as the API server drops them."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: strict(value) for key, value in schema.items()}
    free = "additionalProperties" in schema or "x-kubernetes-preserve-unknown-fields" in schema
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object" and not free:
        made["additionalProperties"] = False
    return made


def validator(kind: str, version: str) -> jsonschema.Draft202012Validator:
    text = (CRDS / f"kueue.x-k8s.io_{KINDS[kind]}.yaml").read_text("utf-8")
    [schema] = [
        served["schema"]["openAPIV3Schema"]
        for served in yaml.load(text, yaml.CSafeLoader)["spec"]["versions"]
        if served["name"] == version
    ]
    formats = jsonschema.Draft202012Validator.FORMAT_CHECKER
    return jsonschema.Draft202012Validator(strict(schema), format_checker=formats)


def objects(version: str, typed: bool) -> Iterator[dict[str, Any]]:
    """Yield each different object of four days, a snapshot every five minutes."""
    seen: set[str] = set()
    works = simulated(seed=5, jobs=60, days=4).works
    for _, items in kueue.snapshots(works, 300, version, typed):
        yield from (json.loads(item) for item in items if item not in seen)
        seen.update(items)
    yield from map(json.loads, kueue.queues(version))


@pytest.mark.parametrize(("version", "typed"), [("v1beta1", False), ("v1beta2", True)])
def test_objects_meet_the_published_schemas(version: str, typed: bool) -> None:
    validators = {kind: validator(kind, version) for kind in KINDS}
    kinds = dict.fromkeys(KINDS, 0)
    for item in objects(version, typed):
        kinds[item["kind"]] += 1
        validators[item["kind"]].validate(item)
    assert min(kinds.values()) >= 3
    assert kinds["Workload"] > 100


def test_a_misspelled_field_is_refused() -> None:
    item = next(objects("v1beta2", True))
    item["status"]["conditons"] = []
    with pytest.raises(jsonschema.ValidationError, match="conditons"):
        validator("Workload", "v1beta2").validate(item)
