"""`check_stores` finds differences between the stores in both directions."""

from collections.abc import Iterator

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.models import Block, User, add_profile_entry
from core.ids import new_ulid
from core.outbox.models import OutboxEntry
from core.outbox.processing import process_due
from projects.consistency import orphans
from tests.contracts.card_scenes import propose
from tests.contracts.conftest import book, offer_in
from tests.threads.conftest import make_person, say, start
from threads import cache
from threads.actions.blocks import block_person
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.table import Item, connection, create_table
from threads.dynamodb.transactions import update
from threads.models import (
    CardShadow,
    Draft,
    Pair,
    Participant,
    PendingAction,
    Profile,
    TabSnapshot,
    Thread,
)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def own_table(monkeypatch) -> Iterator[None]:
    """A table of its own: other tests leave items in the shared one whose rows were rolled back."""
    name = f"{settings.DYNAMODB['table']}_{new_ulid()}"
    monkeypatch.setitem(settings.DYNAMODB, "table", name)
    connection.cache_clear()
    cache._entries.clear()
    create_table()
    yield
    connection().connection._make_api_call("DeleteTable", {"TableName": name})
    connection.cache_clear()
    cache._entries.clear()


@pytest.fixture
def active(own_table) -> dict[str, object]:
    """Two users with a booking, an open card, an offer and a block by another user."""
    buyer, seller, stranger = (make_person(name) for name in ("Bea", "Sam", "Stig"))
    thread, other = start(buyer, seller), start(buyer, seller)
    say(seller, thread)
    leg = book(thread, buyer, seller)
    propose("extras", leg)
    offer_in(other, seller)
    block_person(stranger, blocked=buyer)
    while process_due():
        pass
    return {"buyer": buyer, "seller": seller, "thread": thread, "stranger": stranger}


def check(capsys) -> list[str]:
    """Problems printed by the command; none if it reports that the stores agree."""
    failure = ""
    try:
        call_command("check_stores")
    except CommandError as error:
        failure = str(error)
    lines = capsys.readouterr().out.splitlines()
    if lines == ["The stores agree."]:
        assert not failure
        return []
    assert failure == f"{len(lines)} differences."
    return lines


@pytest.mark.storage
def test_stores_of_an_active_thread_agree(active, capsys):
    assert check(capsys) == []


MISSING_USER, MISSING_THREAD = "usr_01JZZZZZZZZZZZZZZZZZZZZZZZ", "thrd_01JZZZZZZZZZZZZZZZZZZZZZZZ"


def card(thread: str) -> Item:
    return CardShadow(
        keys.thread_pk(thread),
        keys.card_sk(f"msg_{new_ulid()}"),
        card_id="card_01JZZZZZZZZZZZZZZZZZZZZZZZ",
        type="extras",
        payload={},
        state="open",
        version=1,
        created_by=MISSING_USER,
        history=[],
        idempotency_keys=[],
        rev=0,
    )


def tab(thread: str) -> Item:
    return TabSnapshot(
        keys.thread_pk(thread),
        keys.tab_sk("docs"),
        version=1,
        snapshot={},
        updated_by=MISSING_USER,
        updated_at=keys.now(),
        rev=0,
    )


def pending_action(user: str, thread: str) -> Item:
    sk = keys.pending_action_sk(thread, f"msg_{new_ulid()}")
    return PendingAction(keys.user_pk(user), sk, type="proofs", created_at=keys.now())


def profile(user: str) -> Item:
    pk = keys.user_pk(user)
    return Profile(pk, keys.PROFILE, handle="x", display_name="X", verified=False, time_zone="UTC")


ORPHANS = {
    "card": (lambda b: card(b["thread"]), "card card_01JZZZ"),
    "card without thread": (lambda b: card(MISSING_THREAD), "its thread does not exist"),
    "tab": (lambda b: tab(MISSING_THREAD), "its thread does not exist"),
    "wait": (lambda b: pending_action(b["buyer"].id, b["thread"]), "no open proofs matches it"),
    "wait elsewhere": (
        lambda b: pending_action(b["buyer"].id, MISSING_THREAD),
        "its thread does not exist",
    ),
    "profile": (lambda b: profile(MISSING_USER), f"user {MISSING_USER} does not exist"),
    "draft": (
        lambda b: Draft(
            keys.user_pk(b["buyer"].id),
            keys.draft_sk(MISSING_THREAD),
            text="",
            version=1,
            updated_at=keys.now(),
        ),
        "its thread does not exist",
    ),
    "pair": (
        lambda b: Pair(
            keys.pair_pk(b["buyer"].id, b["seller"].id), keys.STATE, blocked_by={b["buyer"].id}
        ),
        "has not blocked",
    ),
}


@pytest.mark.parametrize("kind", ORPHANS)
def test_an_orphaned_item_is_found(active, capsys, kind):
    make, problem = ORPHANS[kind]
    item = make(active)
    item.save()
    lines = check(capsys)
    assert any(line.startswith(f"{item.pk} {item.sk}: ") and problem in line for line in lines)


@pytest.mark.parametrize("binding", [{"leg_id": "leg_1"}, {"group_id": "lbg_1"}])
def test_a_thread_bound_to_a_booking_that_does_not_exist_is_found(active, capsys, binding):
    thread = start(active["buyer"], active["seller"])
    update(Thread(keys.thread_pk(thread), keys.THREAD), Change(set=binding), None)
    assert [line.partition(": ")[2] for line in check(capsys)] == [
        f"is bound to {next(iter(binding.values()))}, which does not exist"
    ]


def test_a_participant_who_does_not_exist_is_found(active, capsys):
    found = Participant.find(
        keys.thread_pk(active["thread"]), keys.participant_sk(active["buyer"].id)
    )
    found.sk = keys.participant_sk(MISSING_USER)
    found.save()
    assert any(f"user {MISSING_USER} does not exist" in line for line in check(capsys))


@pytest.mark.storage
def test_records_missing_from_the_table_are_found(active, capsys):
    profile(active["stranger"].id).delete()
    Block.objects.create(blocker=active["seller"], blocked=active["stranger"])
    problems = check(capsys)
    assert f"{active['stranger'].id}: has no profile in DynamoDB" in problems
    blocked = f"{active['seller'].id}: the block of {active['stranger'].id} is not in DynamoDB"
    assert blocked in problems
    assert len(problems) == 2


def test_a_pending_outbox_entry_is_not_a_difference(active, capsys):
    profile(active["stranger"].id).delete()
    add_profile_entry(active["stranger"])
    call_command("check_stores")
    assert "1 outbox entries are pending" in capsys.readouterr().out


@pytest.mark.storage
def test_the_profile_of_a_deleted_account_and_a_dead_letter_are_found(active, capsys):
    User.objects.filter(pk=active["stranger"].id).update(deleted_at=timezone.now())
    OutboxEntry.objects.create(kind="deletion", payload={"user": "usr_1"}, dead_at=timezone.now())
    lines = check(capsys)
    assert any("is the profile of a deleted account" in line for line in lines)
    assert any("1 outbox entries are dead letters" in line for line in lines)


@pytest.mark.storage
def test_the_table_is_read_in_pages(active, capsys, monkeypatch):
    monkeypatch.setattr(orphans, "PAGE_SIZE", 2)
    assert check(capsys) == []
    card(MISSING_THREAD).save()
    assert len(check(capsys)) == 1
