from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from files.file_types import FileType


@dataclass
class Sample:
    """An upload on the bench: what came, and what the scanners made of it so far."""

    path: Path
    kind: FileType
    # Where the scanners leave what they make.
    folder: Path
    content_type: str = ""
    width: int = 0
    height: int = 0
    band: int = 0
    # By variant: what will be kept.
    variants: dict[str, Path] = field(default_factory=dict)


class Scanner(Protocol):
    def scan(self, sample: Sample) -> None:
        """Raises a refusal for what must not be shown, or cannot be judged."""
