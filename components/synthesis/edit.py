"""One span of one file, replaced."""

from dataclasses import dataclass

from components.synthesis.scope import Function


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the bytes `start:end` of a file by `replacement`, inside `function`."""

    start: int
    end: int
    replacement: str
    function: Function

    def splice(self, data: bytes) -> bytes:
        """The file with only this span changed."""
        return data[: self.start] + self.replacement.encode() + data[self.end :]
