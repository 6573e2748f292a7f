"""Draws docs/layers.svg from the layer contracts in pyproject.toml: python script/layers.py"""

import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "layers.svg"
WIDTH, ROW, GAP, CHARACTER, MARGIN = 860, 44, 10, 7.4, 14
STYLE = (
    "text{font:13px ui-monospace,monospace;fill:#1c1b19}"
    ".quiet{fill:#6b675f;font-size:12px}"
    "rect{fill:#f6f4ef;stroke:#8a857a}"
)


def read_layers() -> list[list[str]]:
    """The layers of the apps from the top; apps in one row do not import each other."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = config["tool"]["importlinter"]["contracts"]
    apps = next(contract for contract in contracts if contract["name"] == "Apps")
    return [[unit.strip() for unit in row.split("|")] for row in apps["layers"]]


def draw(layers: list[list[str]]) -> str:
    height = len(layers) * (ROW + GAP) + 2 * MARGIN + 20
    rows = "\n".join(_row(units, place) for place, units in enumerate(layers))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"'
        f' aria-label="Layers of the code, from the top">\n<style>{STYLE}</style>\n{rows}\n'
        f'<text class="quiet" x="{MARGIN}" y="{height - MARGIN}">'
        "Each row imports only rows below it.</text>\n</svg>\n"
    )


def _row(units: list[str], place: int) -> str:
    width = (WIDTH - 2 * MARGIN - GAP * (len(units) - 1)) / len(units)
    y = MARGIN + place * (ROW + GAP)
    return "\n".join(
        _box(unit, MARGIN + at * (width + GAP), y, width) for at, unit in enumerate(units)
    )


def _box(unit: str, x: float, y: float, width: float) -> str:
    left = x + (width - len(unit) * CHARACTER) / 2
    return (
        f'<rect x="{x:.0f}" y="{y}" width="{width:.0f}" height="{ROW}" rx="6"/>'
        f'<text x="{left:.0f}" y="{y + ROW / 2 + 5:.0f}">{escape(unit)}</text>'
    )


if __name__ == "__main__":
    TARGET.write_text(draw(read_layers()), encoding="utf-8")
