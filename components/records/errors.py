"""The domain of errors: what went wrong, whose fault it is, and what to do about it.

The command line prints any `FlywheelError` as one line and exits with its `exit_code`; everything
else is a defect of ours and keeps its traceback.
"""

from collections.abc import Iterable


class FlywheelError(Exception):
    """Base of every error that a user is meant to read."""

    exit_code = 1


def _rebuild(kind: type[BaseException], args: tuple[object, ...], state: dict[str, object]) -> BaseException:
    """An error from another process: its constructor's arguments are not those of `Exception`."""
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class ConfigError(FlywheelError):
    """The user can fix this: names the key, the value found and what is allowed."""

    exit_code = 2

    def __init__(self, key: str, value: object, allowed: str | Iterable[str], hint: str = "") -> None:
        self.key, self.value = key, value
        self.allowed = allowed if isinstance(allowed, str) else ", ".join(allowed)
        text = f"{key}: {value!r} is not allowed; allowed: {self.allowed}"
        super().__init__(f"{text}. {hint}" if hint else text)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.args, self.__dict__)


class InputError(FlywheelError):
    """Bad data: says which row or file, which is then quarantined."""

    exit_code = 3


class CorruptionError(InputError):
    """A stored byte is not what its digest says: names the file."""

    exit_code = 4

    def __init__(self, path: object, expected: str, found: str) -> None:
        self.path, self.expected, self.found = str(path), expected, found
        super().__init__(
            f"{path}: corrupt, expected sha256 {expected[:12]}, found {found[:12]}; "
            "delete it and rerun to rebuild it, or bring it back with `flywheel restore`"
        )

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.args, self.__dict__)


class InfrastructureError(FlywheelError):
    """The machine, not the model, failed: retried, and never counted against a model."""

    exit_code = 5


class OutOfSpaceError(InfrastructureError):
    """No space left on a device."""


class SandboxError(InfrastructureError):
    """A sandbox could not be opened or was lost."""
