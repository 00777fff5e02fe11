"""What the catalogue accepts."""

from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from components.repos.config import RepositoriesConfig, RepositoryEntry

SDIST = {"name": "lib", "version": "1.0", "pin": "0" * 64}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"pin": "0" * 63}, "lib: pin '0+' is not the sha256 of the sdist"),
        (
            {"kind": "git", "location": "x", "pin": "main"},
            "a full commit .40 hex digits., not a branch or tag",
        ),
        ({"kind": "git", "pin": "0" * 40}, "lib: a git source needs a `location`"),
        ({"kind": "path"}, "lib: a path source needs a `location`"),
        ({"recipe": {"install": ["attrs>=20"]}}, "'attrs>=20' is not pinned; write `name==version`"),
        ({"recipe": {"install": ["--index-url=http://evil"]}}, "is not pinned"),
        ({"recipe": {"install": ["x @ file:///x"]}}, "is not pinned"),
        ({"recipe": {"instal": []}}, "instal"),
        ({"name": "../lib"}, "name"),
        ({"version": "1/0"}, "version"),
    ],
)
def test_what_is_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        RepositoryEntry.model_validate(SDIST | fields)


def test_the_same_repository_twice() -> None:
    with pytest.raises(ValidationError, match=r"lib@1\.0 is in the catalogue twice"):
        RepositoriesConfig.model_validate({"catalogue": [SDIST, SDIST]})


@pytest.mark.parametrize(
    "requirement", ["attrs==25.3.0", "x[a,b]==1.0", "y==1.0+local ; python_version < '3.12'"]
)
def test_pinned_requirements(requirement: str) -> None:
    entry = RepositoryEntry.model_validate(SDIST | {"recipe": {"install": [requirement]}})
    assert entry.recipe.install == (requirement,)


def test_the_default_catalogue() -> None:
    text = (Path(__file__).parents[2] / "params.yaml").read_text()
    config = RepositoriesConfig.model_validate(yaml.safe_load(text)["repositories"])
    assert {entry.id: entry.never_train for entry in config.catalogue} == {
        "boltons@26.2.0": False,
        "toolz@1.2.0": False,
        "more-itertools@11.2.1": True,
    }
