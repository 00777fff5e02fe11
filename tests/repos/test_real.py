"""The default catalogue, for real: needs a package index."""

from collections import Counter
from pathlib import Path

import pytest
import yaml

from components.records.repository import BaselineTest, Coverage, Repository
from components.repos.config import RepositoriesConfig
from components.repos.stage import RepositoriesStage
from components.store import Store, Workspace, execute

PARAMS = Path(__file__).parents[2] / "params.yaml"


@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.timeout(1200)
def test_the_default_catalogue(tmp_path: Path) -> None:
    config = RepositoriesConfig.model_validate(yaml.safe_load(PARAMS.read_text())["repositories"])
    store = Store(Workspace(tmp_path))
    dataset = execute(RepositoriesStage(), config, {}, store)
    licences = {row.id: row.licence.spdx for row in dataset.rows("repositories", Repository)}
    assert licences == {
        "boltons@26.2.0": "BSD-3-Clause",
        "toolz@1.2.0": "BSD-3-Clause",
        "more-itertools@11.2.1": "MIT",
    }
    stable = Counter(row.repository_id for row in dataset.rows("baseline", BaselineTest) if row.stable)
    assert stable == {"boltons@26.2.0": 519, "toolz@1.2.0": 192, "more-itertools@11.2.1": 762}
    covered = {(row.repository_id, row.path) for row in dataset.rows("coverage", Coverage)}
    assert {path for repository, path in covered if repository == "more-itertools@11.2.1"} == {
        "more_itertools/__init__.py",
        "more_itertools/more.py",
        "more_itertools/recipes.py",
    }
    assert len({path for repository, path in covered if repository == "boltons@26.2.0"}) > 20
    assert execute(RepositoriesStage(), config, {}, store).cached
