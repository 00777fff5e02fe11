"""The page of parameters has every key there is, each with a description."""

from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from components.params import Params, parse_params
from docs.hooks.parameters import MARK, ROOT, Row, on_page_markdown, parameters_markdown


@pytest.fixture(scope="module")
def page() -> str:
    return parameters_markdown()


@pytest.fixture(scope="module")
def rows(page: str) -> dict[str, Row]:
    found = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| `")]
    return {cells[0].strip("`"): Row(*(cell.strip() for cell in [*cells, "", ""][:4])) for cells in found}


def keys(value: Any, prefix: str = "") -> list[str]:
    """Dotted names of all that a file of parameters sets."""
    if isinstance(value, dict):
        return [
            key
            for name, inner in value.items()
            for key in keys(inner, f"{prefix}.{name}" if prefix else name)
        ]
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [key for item in value for key in keys(item, f"{prefix}[]")]
    return [prefix]


def in_mapping(key: str, rows: dict[str, Row]) -> bool:
    """Whether a key is the user's own, in a field that maps names to values."""
    owner = rows.get(key.rpartition(".")[0])
    return owner is not None and " to " in owner.type


@pytest.mark.parametrize("file", ["params.yaml", "params/smoke.yaml", "params/nightly.yaml"])
def test_what_the_files_set_is_on_the_page(rows: dict[str, Row], file: str) -> None:
    set_there = keys(yaml.safe_load((ROOT / file).read_text()))
    known = rows.keys() | {"distill.model.kind", "evaluate.model.kind"}
    assert {key for key in set_there if key not in known and not in_mapping(key, rows)} == set()


def test_what_a_run_is_given_is_on_the_page(rows: dict[str, Row]) -> None:
    """Every field of a parsed tree, but those of the shared groups, which are shown once."""
    tree = parse_params(yaml.safe_load((ROOT / "params.yaml").read_text()))
    shared = ("sandbox", "scaffold", "limits", "model")
    for name in Params.model_fields:
        section = getattr(tree, name)
        fields = section.model_dump() if isinstance(section, BaseModel) else {}
        for key in keys(fields, name) if fields else [name]:
            parts = key.split(".")
            if len(parts) > 2 and parts[1] in shared:
                key = ".".join(parts[:2])
            if in_mapping(key, rows):
                continue
            if not key.startswith("repositories.catalogue[].") or key in rows:
                assert key.removesuffix("[]") in rows, key


def test_every_key_has_a_type_and_a_description(rows: dict[str, Row]) -> None:
    assert len(rows) > 120
    assert [row.key for row in rows.values() if not row.type or not row.description] == []


def test_values_of_the_file_are_told_beside_the_default(rows: dict[str, Row]) -> None:
    told = parse_params(yaml.safe_load((ROOT / "params.yaml").read_text())).validation.targets.train
    assert f"`{told}`" in rows["validation.targets.train"].default


def test_bounds_and_keys_that_change_nothing(rows: dict[str, Row]) -> None:
    assert rows["train.epochs"].type == "float, > 0"
    assert rows["distill.workers"].description.endswith("Not part of the stage's key.")


def test_only_the_page_with_the_mark_is_filled_in(page: str) -> None:
    assert on_page_markdown("no mark") == "no mark"
    assert on_page_markdown(f"# T\n\n{MARK}\n") == f"# T\n\n{page}\n"
    assert MARK in (ROOT / "docs" / "parameters.md").read_text()
