from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from files.file_types import FileType


@dataclass
class Sample:
    """An upload that is being scanned, and the results so far."""

    path: Path
    kind: FileType
    # Where scanners write their output.
    folder: Path
    # For a profile photo: the point to keep in a square, as fractions of width and height.
    centering: tuple[float, float] | None = None
    content_type: str = ""
    width: int = 0
    height: int = 0
    band: int = 0
    # The content to store, by variant.
    variants: dict[str, Path] = field(default_factory=dict)


class Scanner(Protocol):
    def scan(self, sample: Sample) -> None:
        """Raises a refusal for a file that must not be shown or cannot be checked."""
