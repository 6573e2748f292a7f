"""Dotted names and file paths in the documentation exist."""

import inspect
import pkgutil
import re
from importlib import import_module

import pytest

import projects.actions
import threads.actions
from accounts.models import User
from inbox import queries as inbox_queries
from tests.docs import pages
from tests.docs.test_protocol import EVENTS
from threads import queries

PAGES = sorted(str(path.relative_to(pages.DOCS)) for path in pages.DOCS.rglob("*.md"))
DOTTED = re.compile(
    r"(?:accounts|contracts|core|detection|files|inbox|messaging_site|moderation|privacy"
    r"|projects|realtime|threads)(?:\.\w+)+"
)
PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)*/|(?:[\w.-]+/)+[\w.-]+\.(?:py|md|js|css|html)")
# Functions that take a user and do not access the store.
NO_ACCESS_PATTERN = {
    "threads.actions.start.new_thread",
    "projects.actions.pins.queue_remote_image",
    "projects.actions.pins.reserve_image",
}


@pytest.mark.parametrize("name", PAGES)
def test_every_dotted_name_can_be_imported(name):
    for word in pages.quoted(pages.read(name)):
        if DOTTED.fullmatch(word) and word not in EVENTS:
            pkgutil.resolve_name(word)


@pytest.mark.parametrize("name", PAGES)
def test_every_file_and_folder_exists(name):
    named = {word for word in pages.quoted(pages.read(name)) if PATH.fullmatch(word)}
    assert {word for word in named if not (pages.ROOT / word).exists()} == set()


def test_every_query_and_action_of_a_user_is_an_access_pattern():
    table = pages.rows(pages.section(pages.read("data-model.md"), "## Access patterns"))
    named = {name for row in table for name in pages.quoted(row["call"])}
    assert _list_user_functions() - NO_ACCESS_PATTERN <= named


def _list_user_functions() -> set[str]:
    found = [
        each
        for package in (threads.actions, projects.actions)
        for each in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
    ]
    modules = [queries, inbox_queries, *(import_module(each.name) for each in found)]
    return {
        f"{module.__name__}.{name}"
        for module in modules
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__
        if not name.startswith("_") and _takes_a_user_first(value)
    }


def _takes_a_user_first(function: object) -> bool:
    parameters = inspect.signature(function).parameters.values()
    return next((each.annotation for each in parameters), None) is User
