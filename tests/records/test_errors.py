"""Errors say what to do, and cross process borders whole."""

import pickle

import pytest

from components.records.errors import (
    ConfigError,
    CorruptionError,
    FlywheelError,
    InfrastructureError,
    InputError,
    OutOfSpaceError,
    SandboxError,
)


def test_config_error_names_key_value_and_what_is_allowed() -> None:
    error = ConfigError("train.lr", -1, ["> 0", "< 1"], hint="See params.yaml")
    assert str(error) == "train.lr: -1 is not allowed; allowed: > 0, < 1. See params.yaml"


@pytest.mark.parametrize(
    "error",
    [
        ConfigError("key", 1, "more"),
        CorruptionError("a/file", "aa", "bb"),
        InputError("row 1"),
        InfrastructureError("down"),
        OutOfSpaceError("full"),
        SandboxError("lost"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_can_be_pickled(error: FlywheelError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))
    assert copy.exit_code > 0
    assert "\n" not in str(copy)
