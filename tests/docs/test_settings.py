"""docs/operations.md lists every variable that the settings and the commands read."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.docs import pages
from tests.packages import PACKAGES

SETTINGS = pages.ROOT / "messaging_site" / "settings.py"
SCRIPTS = sorted((pages.ROOT / "script").glob("*.py"))
# Variables of the operating system, which are no settings.
SYSTEM_VARIABLES = {"HOME"}


def listed() -> dict[str, str]:
    table = pages.rows(pages.section(pages.read("operations.md"), "## Settings"))
    return {pages.only(row["variable"]): row["default"] for row in table}


def calls(path: Path) -> Iterator[ast.Call]:
    nodes = ast.walk(ast.parse(path.read_text()))
    return (node for node in nodes if isinstance(node, ast.Call))


def read_by_settings() -> dict[str, ast.expr | None]:
    """The names in env.str("NAME", default=...) and similar calls, with the defaults as written."""
    found: dict[str, ast.expr | None] = {}
    for call in calls(SETTINGS):
        if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "env":
            default = next((word.value for word in call.keywords if word.arg == "default"), None)
            name = ast.literal_eval(call.args[0])
            found[name] = found.get(name) or default
    return found


def read_by_scripts() -> set[str]:
    return {name for path in SCRIPTS for name in _from_environ(path)}


def _from_environ(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text())
    constants = {
        ast.unparse(node.targets[0]): node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=func, args=[name, *_]) if ast.unparse(func) == "os.environ.get":
                pass
            case ast.Subscript(value=value, slice=name) if ast.unparse(value) == "os.environ":
                pass
            case _:
                continue
        yield ast.literal_eval(constants.get(ast.unparse(name), name))


def test_exactly_the_variables_that_are_read_are_listed():
    assert set(listed()) == set(read_by_settings()) | read_by_scripts() - SYSTEM_VARIABLES


def test_no_other_module_reads_the_environment():
    readers = {
        path.relative_to(pages.ROOT).as_posix()
        for app in PACKAGES
        for path in (pages.ROOT / app).rglob("*.py")
        if list(_from_environ(path)) or "getenv" in path.read_text()
    }
    assert readers == set()


def test_every_constant_default_is_listed():
    in_page = listed()
    for name, default in read_by_settings().items():
        assert in_page[name], f"{name} has no default in the page"
        try:
            value = ast.literal_eval(default)
        except ValueError:
            continue  # Computed; the page describes how.
        if name != "SECRET_KEY":  # Empty by default: an installation generates its own key.
            assert (name, in_page[name]) == (name, _as_documented(value))


def _as_documented(value: object) -> str:
    match value:
        case "" | []:
            return "none"
        case bool():
            return "on" if value else "off"
        case list():
            return f"`{','.join(map(str, value))}`"
    return f"`{value}`"
