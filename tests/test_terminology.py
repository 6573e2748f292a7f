"""One term per concept: see the glossary in docs/architecture.md."""

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packages import PACKAGES, ROOT

# Django asks for these names.
SHARED_CLASS_NAMES = {"Command", "Media", "Meta"}
# Terms that the glossary replaces, and words that name nothing in particular.
REPLACED = (
    *("postbox", "parcel", "patience", "forbearance", "mold", "belief", "believed"),
    *("whoever", "whatever", "somebody", "anybody", "how-manieth", "goodbye"),
)
SOURCES = [
    path
    for package in PACKAGES
    for path in sorted((ROOT / package).rglob("*.py"))
    # Migrations are history, and the lexicon is a list of words to find.
    if "migrations" not in path.parts and path.name != "lexicon.py"
]
SCRIPTS = sorted((ROOT / "static").rglob("*.js"))
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))


def test_no_class_name_is_defined_twice():
    defined = defaultdict(list)
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and node.name not in SHARED_CLASS_NAMES:
                defined[node.name].append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in defined.items() if len(paths) > 1} == {}


@pytest.mark.parametrize("path", [*SOURCES, *SCRIPTS, *TEMPLATES], ids=lambda path: path.name)
def test_replaced_terms_are_not_used(path: Path):
    found = re.findall(rf"\b(?:{'|'.join(REPLACED)})\b", path.read_text(), re.IGNORECASE)
    assert found == [], path.relative_to(ROOT)


def test_names_contain_no_replaced_term():
    words = {word for path in SOURCES for name in names_of(path) for word in split_name(name)}
    assert words & set(REPLACED) == set()


def names_of(path: Path) -> Iterator[str]:
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text()).readline)
    return (token.string for token in tokens if token.type == tokenize.NAME)


def split_name(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]
