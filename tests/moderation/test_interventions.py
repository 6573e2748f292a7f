"""Interventions by staff in a thread and about users: storage, events, permissions and repeats."""

import pytest
from django.test import Client

from accounts.models import User
from core.refusals import Refusal
from moderation.actions.cases import add_note, resolve_case, take_case
from moderation.actions.interventions import take_action
from moderation.models import AuditEntry, Case
from tests.moderation.conftest import BACKEND, make_staff, report, taken
from tests.threads.checker import assert_consistent
from tests.threads.conftest import add_friend, messages_of, row, say, start, thread_item
from threads.actions.blocks import block_person
from threads.actions.revisions import edit_message
from threads.actions.start import start_thread

pytestmark = pytest.mark.storage


@pytest.fixture
def case(thread, buyer, seller, moderator):
    say(seller, thread, "You fool")
    return taken(moderator, report(buyer, thread))


def intervene(staff, case, name, target="", reason="It is against the rules", **extra):
    take_action(staff, case_id=case.id, name=name, target=target, reason=reason, **extra)


def code_of(action) -> str:
    with pytest.raises(Refusal) as refusal:
        action()
    return refusal.value.code


def page(user, thread) -> str:
    client = Client()
    client.force_login(user, backend=BACKEND)
    return client.get(f"/threads/{thread}/").content.decode()


def inbox(user) -> str:
    client = Client()
    client.force_login(user, backend=BACKEND)
    return client.get("/inbox/").content.decode()


# --- Messages


def test_a_hidden_message_is_hidden_from_both_until_unhidden(
    case, thread, buyer, seller, moderator, delivered
):
    message = messages_of(thread)[-1]
    intervene(moderator, case, "message.hide", message.id)
    for person in (buyer, seller):
        (event,) = delivered.to(person, "message.hidden")
        assert "You fool" not in event["html"]
        assert "safety team hid" in event["html"]
        assert "You fool" not in page(person, thread)
    notice = "Our safety team has hidden your message"
    for person, text in ((seller, notice), (buyer, "Message removed")):
        shown = delivered.to(person, "inbox.changed")[-1]["last_message"]
        assert shown == {"author": seller.id, "type": "text", "text": text}
        assert (notice in inbox(person)) == (person == seller)
    assert 'class="message mine' in page(seller, thread)
    assert messages_of(thread)[-1].body == "You fool"
    assert_consistent(thread)
    intervene(moderator, case, "message.hide", message.id)
    intervene(moderator, case, "message.unhide", message.id)
    assert "You fool" in page(buyer, thread)
    assert row(thread, buyer).last_message["text"] == "You fool"
    assert_consistent(thread)


def test_a_message_can_be_hidden_in_a_locked_thread_and_after_a_block(
    case, thread, buyer, seller, moderator
):
    message = messages_of(thread)[-1]
    block_person(buyer, blocked=seller)
    intervene(moderator, case, "thread.lock", reason="Threats.")
    intervene(moderator, case, "message.hide", message.id)
    assert next(one for one in messages_of(thread) if one.id == message.id).hidden_at


def test_redacted_text_is_removed_from_every_version(case, thread, seller, moderator):
    message = say(seller, thread, "Her street is Elm Row 5, ask for Ann")
    edit_message(seller, thread_id=thread, message_id=message.id, body="Elm Row 5!")
    intervene(moderator, case, "message.redact", message.id, text="Elm Row 5")
    stored = messages_of(thread)[-1]
    assert stored.body == "█████!"
    assert stored.earlier_bodies[0]["body"] == "Her street is █████, ask for Ann"
    assert "Elm Row" not in str([vars(entry) for entry in AuditEntry.objects.all()])
    assert row(thread, seller).last_message["text"] == "█████!"
    intervene(moderator, case, "message.redact", message.id, text="Elm Row 5")
    assert_consistent(thread)


def test_redacting_a_missing_text_is_refused(case, thread, moderator):
    message = messages_of(thread)[-1]
    assert (
        code_of(lambda: intervene(moderator, case, "message.redact", message.id, text="Other"))
        == "BAD_FRAME"
    )
    assert AuditEntry.objects.filter(case=case.id).last().act == "message.redact.refused"


def test_a_message_of_another_thread_is_not_found(case, buyer, seller, moderator):
    other = say(seller, start(seller, buyer), "Elsewhere")
    assert (
        code_of(lambda: intervene(moderator, case, "message.hide", other.id)) == "THREAD_NOT_FOUND"
    )


# --- Threads


def test_a_locked_thread_is_read_only_and_shows_the_reason(
    case, thread, buyer, seller, moderator, delivered
):
    intervene(moderator, case, "thread.lock", reason="Please keep calm.")
    for person in (buyer, seller):
        event = delivered.to(person, "thread.changed")[-1]
        assert event["status"] == "locked"
        assert event["banner"].endswith("Please keep calm.")
        assert "Please keep calm." in page(person, thread)
        assert code_of(lambda person=person: say(person, thread)) == "THREAD_LOCKED"
    intervene(moderator, case, "thread.unlock")
    assert say(buyer, thread)
    assert thread_item(thread).lock_reason is None


def test_a_hold_stops_both_until_it_is_lifted(case, thread, buyer, seller, moderator, delivered):
    intervene(moderator, case, "thread.hold")
    assert thread_item(thread).soft_block["case"] == case.id
    assert "on hold" in delivered.to(buyer, "thread.changed")[-1]["banner"]
    assert code_of(lambda: say(seller, thread)) == "SAFETY_SOFT_BLOCK"
    intervene(moderator, case, "thread.hold")
    intervene(moderator, case, "thread.lift_hold")
    intervene(moderator, case, "thread.lift_hold")
    assert say(seller, thread)


# --- Users


def test_a_muted_user_can_read_but_not_write(case, thread, buyer, seller, stranger, moderator):
    other = start(stranger, seller)
    intervene(moderator, case, "person.mute", seller.id, days=2)
    for place in (thread, other):
        with pytest.raises(Refusal) as refusal:
            say(seller, place)
        assert refusal.value.code == "RATE_LIMITED"
        assert refusal.value.retry_after > 86_400
    assert "You fool" in page(seller, thread)
    seller.refresh_from_db()
    with pytest.raises(Refusal):
        start_thread(seller, seller=stranger, client_id="x" * 8, subject="Hi", body="Hi")
    later = start(buyer, stranger)
    add_friend(buyer, thread_id=later, user=seller)
    assert code_of(lambda: say(seller, later)) == "RATE_LIMITED"
    intervene(moderator, case, "person.unmute", seller.id)
    assert say(seller, thread)
    assert say(seller, other)


def test_a_suspended_user_is_signed_out_and_has_no_profile(
    case, thread, buyer, seller, moderator, monkeypatch
):
    checked = []
    monkeypatch.setattr("threads.actions.suspensions.recheck_sessions", checked.append)
    client = Client()
    client.force_login(seller, backend=BACKEND)
    intervene(moderator, case, "person.suspend", seller.id)
    assert checked == [seller.id]
    assert client.get("/inbox/").status_code == 302
    as_buyer = Client()
    as_buyer.force_login(buyer, backend=BACKEND)
    assert as_buyer.get(f"/people/{seller.handle}/").status_code == 404
    intervene(moderator, case, "person.restore", seller.id)
    assert User.objects.get(pk=seller.pk).is_active


def test_only_users_of_the_case_can_be_restricted_and_never_staff(
    case, thread, buyer, stranger, moderator
):
    code = code_of(lambda: intervene(moderator, case, "person.suspend", stranger.id))
    assert code == "PERSON_NOT_FOUND"
    User.objects.filter(pk=buyer.pk).update(is_staff=True)
    assert (
        code_of(lambda: intervene(moderator, case, "person.suspend", buyer.id))
        == "ACTION_FORBIDDEN"
    )
    assert User.objects.get(pk=buyer.pk).is_active


# --- Permissions and audit


def test_support_can_hide_but_not_restrict(thread, buyer, seller, support):
    message = say(seller, thread, "You fool")
    case = taken(support, report(buyer, thread))
    intervene(support, case, "message.hide", message.id)
    for name, target, extra in (
        ("message.redact", message.id, {"text": "You"}),
        ("thread.lock", "", {}),
        ("thread.hold", "", {}),
        ("person.mute", seller.id, {"days": 1}),
        ("person.suspend", seller.id, {}),
    ):
        refused = code_of(
            lambda name=name, target=target, extra=extra: intervene(
                support, case, name, target, **extra
            )
        )
        assert refused == "ACTION_FORBIDDEN"
    assert thread_item(thread).status == "open"


def test_only_the_assignee_of_the_case_can_intervene(thread, buyer, seller, moderator, support):
    message = say(seller, thread, "You fool")
    case = report(buyer, thread)
    superuser = make_staff("Root")
    User.objects.filter(pk=superuser.pk).update(is_superuser=True)
    superuser.refresh_from_db()
    for staff in (moderator, support, superuser):
        assert code_of(lambda staff=staff: intervene(staff, case, "message.hide", message.id))
        assert code_of(lambda staff=staff: add_note(staff, case_id=case.id, text="Hm"))
    take_case(support, case_id=case.id)
    assert (
        code_of(lambda: intervene(superuser, case, "message.hide", message.id))
        == "ACTION_FORBIDDEN"
    )
    resolve_case(support, case_id=case.id, reason="Done")
    assert (
        code_of(lambda: intervene(support, case, "message.hide", message.id)) == "ACTION_FORBIDDEN"
    )
    assert code_of(lambda: take_case(moderator, case_id=case.id)) == "ACTION_FORBIDDEN"
    assert messages_of(thread)[-1].hidden_at is None


def test_every_intervention_is_in_the_audit_with_its_reason(case, thread, moderator):
    message = messages_of(thread)[-1]
    intervene(moderator, case, "message.hide", message.id, reason="An insult")
    resolve_case(moderator, case_id=case.id, reason="Warned them")
    recorded = [
        (e.act, e.actor, e.target, e.reason) for e in AuditEntry.objects.filter(case=case.id)
    ]
    assert recorded == [
        ("case.take", moderator.id, "", ""),
        ("message.hide", moderator.id, message.id, "An insult"),
        ("case.resolve", moderator.id, "", "Warned them"),
    ]
    case = Case.objects.get(pk=case.pk)
    assert (case.status, case.outcome) == ("resolved", "Warned them")
