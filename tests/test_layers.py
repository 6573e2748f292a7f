"""Every package of the product is in a layer contract, so that no module is outside all of them."""

import tomllib
from pathlib import Path

from tests.packages import PACKAGES, ROOT

CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
# Packages whose modules Django finds by name.
BY_NAME = {"management", "migrations", "templatetags", "commands"}


def packages(folder: Path) -> list[Path]:
    found = [path.parent for path in folder.glob("**/__init__.py")]
    return [path for path in found if not BY_NAME & set(path.relative_to(ROOT).parts)]


def test_every_app_is_a_root_package():
    apps = {path.parent.name for path in ROOT.glob("*/__init__.py") if path.parent.name != "tests"}
    assert apps == set(PACKAGES)


def test_every_package_has_a_contract_that_names_all_its_modules():
    covered = {
        container
        for contract in CONFIG["contracts"]
        if contract.get("exhaustive")
        for container in contract["containers"]
    }
    missing = {
        ".".join(path.relative_to(ROOT).parts)
        for app in PACKAGES
        for path in packages(ROOT / app)
        if len([*path.glob("*.py"), *path.glob("*/__init__.py")]) > 2
    } - covered
    assert missing == set()


def test_no_import_is_ignored():
    assert not any("ignore_imports" in contract for contract in CONFIG["contracts"])
