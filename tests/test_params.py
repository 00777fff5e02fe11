"""Bad parameters: one line that names the key, the value and what is allowed."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from components.params import _merge, load_params
from components.records.errors import ConfigError

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("train.epoch=1", "train.epoch: 1 is not allowed; allowed: accumulate, batch_rows"),
        ("trian.epochs=1", "trian: "),
        ("train.epochs=-1", "train.epochs: -1 is not allowed; allowed: Input should be greater than 0"),
        ("train.schedule=cosin", "'cosine', 'linear' or 'constant'"),
        ("sandbox.kind=chroot", "sandbox.kind"),
        ("epochs", "--set: 'epochs' is not allowed"),
    ],
)
def test_a_wrong_override_is_explained(override: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_params(ROOT / "params.yaml", overrides=[override])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_profile_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="default, nightly, smoke"):
        load_params(ROOT / "params.yaml", "weekly")


def test_a_missing_file_and_bad_yaml(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="an existing YAML file"):
        load_params(tmp_path / "params.yaml")
    (tmp_path / "params.yaml").write_text("a: [")
    with pytest.raises(ConfigError, match="valid YAML"):
        load_params(tmp_path / "params.yaml")
    (tmp_path / "params.yaml").write_text("- a")
    with pytest.raises(ConfigError, match="a mapping"):
        load_params(tmp_path / "params.yaml")


def test_shared_keys_reach_the_stages_and_give_way_to_their_own() -> None:
    params = load_params(
        ROOT / "params.yaml",
        overrides=["seed=7", "train.seed=9", "sandbox.kind=docker", "limits.max_turns=3"],
    )
    assert (params.synthesis.seed, params.train.seed) == (7, 9)
    assert params.distill.sandbox.kind == params.evaluate.sandbox.kind == "docker"
    assert params.evaluate.limits.max_turns == 3


trees = st.recursive(
    st.integers(), lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=8
)


@given(st.dictionaries(st.sampled_from("abc"), trees), st.dictionaries(st.sampled_from("abc"), trees))
def test_merging_keeps_what_is_not_overridden(base: dict[str, object], over: dict[str, object]) -> None:
    merged = _merge(base, over)
    assert merged.keys() == base.keys() | over.keys()
    assert _merge(merged, over) == merged
    assert all(merged[key] == base[key] for key in base.keys() - over.keys())
    yaml.safe_dump(merged)
