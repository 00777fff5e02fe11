"""Parameters of the `repositories` stage."""

import re
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from components.records.repository import Recipe
from components.sandbox.config import SandboxConfig

Order = Literal["file", "shuffle"]

_PINS = {
    "sdist": (re.compile(r"[0-9a-f]{64}"), "the sha256 of the sdist (64 hex digits)"),
    "git": (re.compile(r"[0-9a-f]{40}"), "a full commit (40 hex digits), not a branch or tag"),
    "path": (re.compile(r"[0-9a-f]{64}"), "the sha256 of the tree (64 hex digits)"),
}
_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9._,-]+\])?==[A-Za-z0-9.!+_-]+(\s*;.*)?")

Requirement = Annotated[str, Field(pattern=_REQUIREMENT.pattern)]


class RepositoryEntry(BaseModel):
    """One repository of the catalogue."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    """Its name; for an sdist the project's name on the package index."""
    version: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.!+_-]*$")
    """Its version; `name@version` is its id."""
    kind: Literal["sdist", "git", "path"] = "sdist"
    """Where it comes from: a source distribution, a git repository, a local folder."""
    location: str = ""
    """sdist: the project's name on the index (default: `name`); git: a URL; path: a folder."""
    pin: str = ""
    """What makes it that version: see `components.repos.sources`. Left empty, the run stops and says what
    was found."""
    recipe: Recipe = Recipe()
    """How it is installed and tested. Empty `source_paths` are found out from the tree."""
    never_train: bool = False
    """True: its tasks may only ever be held out."""
    install_seconds: float = Field(default=600, gt=0)
    """The longest that pip may take."""
    suite_seconds: float = Field(default=600, gt=0)
    """The longest that one run of the whole suite may take."""
    memory_mb: int = Field(default=2048, gt=0)
    """Memory of one run of the whole suite."""

    @property
    def id(self) -> str:
        """`name@version`."""
        return f"{self.name}@{self.version}"

    @property
    def key(self) -> str:
        """Where it stands in the parameters, for error messages."""
        return f"repositories.catalogue.{self.name}"

    @model_validator(mode="after")
    def _pinned(self) -> Self:
        pattern, allowed = _PINS[self.kind]
        if self.pin and not pattern.fullmatch(self.pin):
            raise ValueError(f"{self.name}: pin {self.pin!r} is not {allowed}")
        if self.kind != "sdist" and not self.location:
            raise ValueError(f"{self.name}: a {self.kind} source needs a `location`")
        for requirement in self.recipe.install:
            if not _REQUIREMENT.fullmatch(requirement):
                raise ValueError(f"{self.name}: {requirement!r} is not pinned; write `name==version`")
        return self


class RepositoriesConfig(BaseModel):
    """Which repositories there are and how their baseline is taken."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    catalogue: tuple[RepositoryEntry, ...] = Field(min_length=1)
    """The repositories."""
    test_tools: tuple[Requirement, ...] = (
        "coverage==7.17.5",
        "iniconfig==2.3.1",
        "packaging==26.4",
        "pluggy==1.7.0",
        "pygments==2.21.0",
        "pytest==9.2.0",
    )
    """What every environment holds beside a recipe's own requirements: all of it, so that an environment is
    the same on every machine."""
    orders: tuple[Order, ...] = Field(default=("file", "shuffle", "file"), min_length=1)
    """The order of the tests in each baseline run. Only tests that pass in every run are stable."""
    seed: int = 0
    """Of the shuffled orders."""
    sandbox: SandboxConfig = SandboxConfig()
    """What the suites run in."""
    workers: int | None = Field(default=None, json_schema_extra={"affects_output": False})
    """Repositories worked on at once; default: one per core."""

    @field_validator("catalogue")
    @classmethod
    def _unique(cls, entries: tuple[RepositoryEntry, ...]) -> tuple[RepositoryEntry, ...]:
        ids = [entry.id for entry in entries]
        for repository in ids:
            if ids.count(repository) > 1:
                raise ValueError(f"{repository} is in the catalogue twice")
        return entries
