"""A file hidden by staff is shown nowhere and cannot be used again."""

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from types import ModuleType
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

import projects.actions
import threads.actions
from core.refusals import Refusal
from files.models import File
from projects.actions.cards import transition_card
from projects.actions.panel import edit_tab
from projects.actions.proofs import add_proofs
from projects.cards.gallery import list_selectable_images
from tests.contracts.card_helpers import GIVEN, propose
from tests.files.conftest import bring, kept  # noqa: F401
from tests.packages import PACKAGES, ROOT
from tests.test_access import BACKEND
from tests.threads.conftest import say
from tests.threads.test_export import export_of
from threads.actions.messages import OutgoingMessage, send_message
from threads.actions.staff import hide_message, unhide_message
from threads.file_access import list_usable_files


def send(user, leg, file_id):
    say(user, leg.thread_id, attachments=[file_id])


def send_as_socket(user, leg, file_id):
    OutgoingMessage(user, leg.thread_id, str(uuid4()), "Look", attachments=[file_id]).prepare()


def pin(user, leg, file_id):
    thread = leg.thread_id
    edit_tab(user, thread_id=thread, tab="moodboard", op="add", version=0, picture=file_id)


def show_proof(user, leg, file_id):
    add_proofs(user, thread_id=leg.thread_id, file_ids=[file_id])


def propose_with(type_name: str) -> Callable:
    def propose_card(user, leg, file_id):
        by = leg.buyer if type_name == "dispute" else user
        propose(type_name, leg, by, file_ids=[file_id])

    return propose_card


def answer_card(user, leg, file_id):
    """The file is refused before the card is checked."""
    card = propose("extras", leg)
    given = GIVEN["extras"](leg)
    transition_card(
        leg.buyer if user == leg.seller else leg.seller,
        card_id=card.id,
        transition="counter",
        version=card.version,
        key="counter",
        given=given,
        file_ids=[file_id],
    )


# Every action that takes a file by its id, with functions that call it.
USES: dict[str, list[Callable]] = {
    "threads.actions.messages.send_message": [send],
    "threads.actions.messages.OutgoingMessage": [send_as_socket],
    "projects.actions.panel.edit_tab": [pin],
    "projects.actions.proofs.add_proofs": [show_proof],
    "projects.actions.cards.propose_card": [
        propose_with("proofs"),
        propose_with("expense"),
        propose_with("dispute"),
    ],
    "projects.actions.cards.transition_card": [answer_card],
}
# Called by the actions above with their arguments, or only removes something.
OTHERS = {
    "threads.actions.attachments.MessageAttachments",
    "threads.actions.attachments.collect_attachments",
    "projects.actions.pins.reserve_image",
    "projects.actions.pins.pin_id_for",
    "projects.actions.proofs.remove_proof",
}
NAMES = {"attachments", "picture", "file_id", "file_ids", "files"}
# Modules that may read file rows of any user. All others use threads/file_access.py.
READERS = {
    "files/actions.py",
    "files/remote_images/queue.py",
    "files/queries.py",
    "threads/file_access.py",
    "demo/cards.py",
    "demo/management/commands/seed_demo.py",
    # For staff assigned to a case.
    "moderation/export.py",
    "moderation/queries.py",
}


@pytest.fixture
def hidden(leg, thread, seller) -> File:
    photo = bring(seller, thread)
    message = say(seller, thread, "Look", attachments=[photo.id])
    hide_message(thread_id=thread, message_id=message.id)
    return photo


@pytest.mark.storage
@pytest.mark.parametrize(
    "use", [use for uses in USES.values() for use in uses], ids=lambda use: use.__qualname__[:24]
)
def test_a_hidden_file_cannot_be_used_again(use, leg, thread, buyer, seller):
    author = buyer if use is answer_card or "dispute" in str(use.__closure__ or "") else seller
    photo = bring(author, thread)
    message = say(author, thread, "Look", attachments=[photo.id])
    hide_message(thread_id=thread, message_id=message.id)
    user = seller if use is answer_card else author
    with pytest.raises(Refusal) as refused:
        use(user, leg, photo.id)
    assert refused.value.code == "UPLOAD_GONE"
    unhide_message(thread_id=thread, message_id=message.id)
    assert list_usable_files(author, [photo.id], thread_id=thread)


def test_every_action_that_takes_a_file_is_tested():
    """A new action has to be added to USES, which tests it with a hidden file."""
    found = set()
    for module in (*_modules(threads.actions), *_modules(projects.actions)):
        for name, member in inspect.getmembers(importlib.import_module(module.name)):
            if _is_public(module.name, name, member):
                parameters = inspect.signature(member).parameters.keys()
                found |= {f"{module.name}.{name}"} if NAMES & parameters else set()
    assert found == USES.keys() | OTHERS


def _modules(package: ModuleType) -> Iterator[pkgutil.ModuleInfo]:
    return pkgutil.iter_modules(package.__path__, f"{package.__name__}.")


def _is_public(module: str, name: str, member: object) -> bool:
    is_own = getattr(member, "__module__", "") == module
    return is_own and not name.startswith("_") and callable(member)


def test_files_are_read_by_id_in_one_place():
    """Reading file rows anywhere else would bypass the permission check."""
    readers = set()
    for app in PACKAGES:
        for path in (ROOT / app).rglob("*.py"):
            tree = ast.parse(path.read_text())
            if any(_reads_files(node) for node in ast.walk(tree)):
                readers.add(str(path.relative_to(ROOT)))
    assert readers == READERS


def _reads_files(node: ast.AST) -> bool:
    is_manager = isinstance(node, ast.Attribute) and node.attr == "objects"
    return is_manager and isinstance(node.value, ast.Name) and node.value.id == "File"


def status(user, file) -> int:
    client = Client()
    client.force_login(user, backend=BACKEND)
    return client.get(reverse("threads:file", args=[file.id])).status_code


def test_a_hidden_file_is_not_served(hidden, buyer, seller):
    assert [status(user, hidden) for user in (buyer, seller)] == [404, 404]


@pytest.mark.parametrize("place", [pin, show_proof, send])
def test_hiding_a_file_hides_it_everywhere_it_is_used(place, leg, thread, buyer, seller):
    photo = bring(seller, thread)
    message = say(seller, thread, "Look", attachments=[photo.id])
    place(seller, leg, photo.id)
    assert status(buyer, photo) == 200
    hide_message(thread_id=thread, message_id=message.id)
    assert [status(user, photo) for user in (buyer, seller)] == [404, 404]
    unhide_message(thread_id=thread, message_id=message.id)
    assert status(buyer, photo) == 200


def test_a_hidden_file_is_not_offered_for_selection(hidden, leg, thread, seller):
    other = bring(seller, thread)
    say(seller, thread, "Another", attachments=[other.id])
    shown = [picture["id"] for picture in list_selectable_images(seller, thread, [])]
    assert shown == [other.id]


@pytest.mark.storage
def test_resending_the_same_message_is_idempotent(leg, thread, seller):
    photo = bring(seller, thread)
    fields = {"thread_id": thread, "client_id": str(uuid4()), "body": "Look"}
    first = send_message(seller, attachments=[photo.id], **fields)
    hide_message(thread_id=thread, message_id=first.id)
    assert send_message(seller, attachments=[photo.id], **fields).id == first.id


def test_a_hidden_file_is_not_exported(leg, thread, buyer, seller):
    """It is exported neither from another message nor from the panel."""
    photo, plain = bring(seller, thread), bring(seller, thread, name="plain.jpg")
    message = say(seller, thread, "Look", attachments=[photo.id])
    say(seller, thread, "Again", attachments=[photo.id, plain.id])
    pin(seller, leg, photo.id)
    hide_message(thread_id=thread, message_id=message.id)
    names = [name for name in export_of(buyer, thread).namelist() if ".jp" in name]
    assert len(names) == 1
    assert "plain" in names[0]
