"""The packages of the product, as the layer contracts name them."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES: tuple[str, ...] = tuple(
    tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["root_packages"]
)
