"""Proofs: shown by the seller, approved or sent back by the buyer, in rounds."""

from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from contracts.cards.types.complete import TYPE as COMPLETE
from contracts.models import Card
from core.refusals import Refusal
from projects.actions.proofs import add_proofs
from projects.panel.rebuild import list_differences
from tests.contracts.card_helpers import (
    GIVEN,
    answer,
    apply_deadline,
    later_cards,
    local,
    propose,
)
from tests.files.conftest import bring, picture
from tests.threads.checker import assert_consistent
from tests.threads.conftest import messages_of, say, thread_item
from threads.actions.staff import hide_message
from threads.cache import reload
from threads.file_access import access_file

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def pictures(leg):
    return [bring(leg.seller, leg.thread_id, name=f"look {n}.jpg").id for n in range(3)]


@pytest.fixture
def card(leg, pictures):
    given = GIVEN["proofs"](leg) | {"most": "2"}
    return propose("proofs", leg, given=given, file_ids=pictures)


def request_changes(card, note="Warmer.", **notes):
    rows = [{"id": file_id, "note": text} for file_id, text in notes.items()]
    answer(card.buyer, card, "request_changes", given={"note": note, "notes": rows})
    card.refresh_from_db()


def show_again(card, pictures):
    fields = {"given": GIVEN["proofs"](card.leg), "file_ids": pictures}
    answer(card.seller, card, "answer", **fields)
    card.refresh_from_db()
    return Card.objects.get(counters=card)


def approved_in_tab(thread):
    return reload(thread).tabs["files"].snapshot.get("approved", [])


def pending_for(thread):
    return [each["user"] for each in thread_item(thread).waits if each["type"] == "proofs"]


def test_selected_proofs_are_shown_in_the_files_tab(card, leg, buyer, pictures, thread):
    assert approved_in_tab(thread) == []
    answer(buyer, card, "approve", given={"chosen": [pictures[2], pictures[0]]})
    (entry,) = approved_in_tab(thread)
    assert [one["id"] for one in entry["pictures"]] == [pictures[0], pictures[2]]
    assert (entry["by"], entry["chosen"], entry["count"]) == (buyer.id, 2, 3)
    body = messages_of(thread)[-1].body
    assert body.endswith("Selected: 2 of 3.")
    # The approval is the default basis for completing the work.
    assert COMPLETE.defaults(leg) == {"how": "milestone"}
    assert list(list_differences(thread)) == []
    assert_consistent(thread)


def test_without_a_selection_all_proofs_are_approved(card, buyer, pictures, thread):
    answer(buyer, card, "approve", given={})
    (entry,) = approved_in_tab(thread)
    assert [one["id"] for one in entry["pictures"]] == pictures
    assert entry["chosen"] == 0


@pytest.mark.parametrize("chosen", [[0, 1, 2], ["file_0000000000000000000000"]])
def test_only_shown_proofs_up_to_the_limit_can_be_selected(card, buyer, pictures, chosen):
    ids = [pictures[one] if isinstance(one, int) else one for one in chosen]
    with pytest.raises(Refusal) as refused:
        answer(buyer, card, "approve", given={"chosen": ids})
    assert refused.value.code == "CARD_INVALID"
    card.refresh_from_db()
    assert (card.state, card.version) == ("pending", 1)


@pytest.mark.storage
def test_rounds_continue_until_approval(card, leg, buyer, seller, pictures, thread):
    request_changes(card, "", **{pictures[1]: "Crop it closer."})
    assert (card.state, card.is_open, card.waits_for) == ("changes_requested", True, [seller.id])
    # The card has no deadline while the seller works on it.
    assert card.due_at is None
    assert pending_for(thread) == [seller.id]
    again = bring(seller, thread, name="closer.jpg").id
    second = show_again(card, [pictures[0], again])
    assert (card.state, card.is_open) == ("changes_requested", False)
    assert (second.payload["round"], second.waits_for) == (2, [buyer.id])
    assert pending_for(thread) == [buyer.id]
    request_changes(second, "Both warmer.")
    third = show_again(second, [again])
    answer(buyer, third, "approve", given={"chosen": again})
    third.refresh_from_db()
    assert (third.payload["round"], third.state) == (3, "approved")
    shown = [one.action for one in messages_of(thread) if one.type == "action"]
    chain = [one for one in shown if one["type"] == "proofs"]
    assert [one["state"] for one in chain] == ["changes_requested", "changes_requested", "approved"]
    assert [one["answers"] and one["answers"]["id"] for one in chain] == [None, card.id, second.id]
    assert all(one["moves"] == {} for one in chain)
    assert list(list_differences(thread)) == []
    assert_consistent(thread)


@pytest.mark.storage
def test_a_round_is_answered_once(card, buyer, seller, pictures):
    request_changes(card)
    show_again(card, pictures[:1])
    for by, move, given in (
        (seller, "answer", GIVEN["proofs"](card.leg)),
        (buyer, "approve", {}),
    ):
        with pytest.raises(Refusal) as refused:
            answer(by, card, move, key="another", given=given, file_ids=[])
        assert refused.value.code == "ACTION_INVALID_STATE"
    assert later_cards().count() == 2


def test_a_request_for_changes_needs_a_note(card, buyer):
    with pytest.raises(Refusal) as refused:
        answer(buyer, card, "request_changes", given={"note": " ", "notes": []})
    assert refused.value.message == "Describe the changes, for one photo or for all of them."


def test_unanswered_proofs_expire_at_the_chosen_time(card, leg):
    assert local(card.due_at, leg.time_zone) == GIVEN["proofs"](leg)["until"]
    apply_deadline(card)
    assert card.state == "expired"


@pytest.mark.parametrize("days", [-1, 61])
def test_the_deadline_of_proofs_is_limited(leg, pictures, days):
    until = local(timezone.now() + timedelta(days=days), leg.time_zone)
    with pytest.raises(Refusal) as refused:
        propose("proofs", leg, given={"until": until}, file_ids=pictures)
    assert "until" in refused.value.details["errors"]


def test_only_images_can_be_proofs(leg, thread):
    words = bring(leg.seller, thread, b"Words", name="a.txt").id
    with pytest.raises(Refusal) as refused:
        propose("proofs", leg, file_ids=[words])
    assert refused.value.details["errors"] == {"files": "You can only attach photos here."}


def test_only_the_parties_see_proofs(card, buyer, seller, stranger, pictures):
    assert access_file(buyer, pictures[0]).file.id == pictures[0]
    assert access_file(seller, pictures[0]).file.id == pictures[0]
    with pytest.raises(Refusal) as refused:
        access_file(stranger, pictures[0])
    assert refused.value.code == "THREAD_NOT_FOUND"


def form(client, user, address):
    client.force_login(user)
    return client.get(address).content.decode()


def test_the_form_offers_the_sellers_own_images_of_the_thread(leg, thread, buyer, seller, client):
    sent, proof, kept = (bring(seller, thread, name=f"{name}.jpg") for name in "abc")
    say(seller, thread, "Look", attachments=[sent.id])
    add_proofs(seller, thread_id=thread, file_ids=[proof.id])
    buyers_file = bring(buyer, thread)
    say(buyer, thread, "Like this", attachments=[buyers_file.id])
    page = reverse("projects:card_new", args=[thread, "proofs"])
    shown = form(client, seller, page)
    assert sent.id in shown
    assert proof.id in shown
    assert kept.id not in shown
    assert buyers_file.id not in shown
    fields = {"key": "once", "leg": leg.id, **GIVEN["proofs"](leg), "picture": [proof.id, sent.id]}
    fields["files"] = SimpleUploadedFile("new.jpg", picture())
    assert client.post(page, fields).status_code == 302
    ids = [file["id"] for file in later_cards().get().payload["files"]]
    assert ids[:2] == [proof.id, sent.id]
    assert len(ids) == 3


def test_a_file_hidden_by_staff_cannot_be_shown_as_proof(leg, thread, seller, client):
    hidden = bring(seller, thread)
    message = say(seller, thread, "Look", attachments=[hidden.id])
    hide_message(thread_id=thread, message_id=message.id)
    with pytest.raises(Refusal) as refused:
        propose("proofs", leg, file_ids=[hidden.id])
    assert refused.value.code == "UPLOAD_GONE"
    page = reverse("projects:card_new", args=[thread, "proofs"])
    assert hidden.id not in form(client, seller, page)


def test_an_invalid_form_keeps_uploads_and_selection(leg, thread, seller, client):
    page = reverse("projects:card_new", args=[thread, "proofs"])
    fields = {"key": "once", "leg": leg.id, "until": "soon", "note": "Mind the light."}
    fields["files"] = SimpleUploadedFile("new.jpg", picture())
    client.force_login(seller)
    response = client.post(page, fields)
    shown = response.content.decode()
    assert response.status_code == 400
    assert "Enter a valid date and time." in shown
    assert "Mind the light." in shown
    file_id = seller.files.get().id
    assert f'name="picture" value="{file_id}" checked' in shown
    again = {"key": "once", "leg": leg.id, **GIVEN["proofs"](leg), "picture": file_id}
    assert client.post(page, again).status_code == 302


def test_buyer_and_seller_can_answer_with_plain_forms(card, buyer, seller, pictures, client):
    page = reverse("projects:card_transition", args=[card.id, "request_changes"])
    assert "look 1.jpg" in form(client, buyer, page)
    fields = {"key": "once", "version": 1, "note": ""}
    empty = client.post(page, fields | {"notes-0-id": pictures[0], "notes-0-note": ""})
    assert "Describe the changes" in empty.content.decode()
    rows = {}
    for number, file_id in enumerate(pictures):
        rows |= {f"notes-{number}-id": file_id, f"notes-{number}-note": "Softer." * (number == 1)}
    assert client.post(page, fields | rows).status_code == 302
    card.refresh_from_db()
    assert card.payload["notes"] == {pictures[1]: "Softer."}

    page = reverse("projects:card_transition", args=[card.id, "answer"])
    assert "Softer." in form(client, seller, page)
    fields = {"key": "once", "version": 2, **GIVEN["proofs"](card.leg), "picture": pictures[1:]}
    assert client.post(page, fields).status_code == 302
    second = Card.objects.get(counters=card)

    page = reverse("projects:card_transition", args=[second.id, "approve"])
    assert f'name="chosen" value="{pictures[1]}"' in form(client, buyer, page)
    both = {"key": "once", "version": 1, "chosen": pictures[1:]}
    refused = client.post(page, both)
    assert refused.status_code == 400
    assert "You can select up to 1." in refused.content.decode()
    assert client.post(page, both | {"chosen": pictures[1]}).status_code == 302
    second.refresh_from_db()
    assert second.payload["chosen"] == [pictures[1]]


def test_the_page_of_a_round_links_to_the_others(card, buyer, pictures, client):
    request_changes(card)
    second = show_again(card, pictures[:1])
    for page in (card, second):
        shown = form(client, buyer, reverse("projects:card", args=[page.id]))
        assert shown.count(f'href="/cards/{(second if page == card else card).id}/"') >= 1
        assert 'aria-current="page"' in shown


def test_the_seller_withdraws_proofs_before_and_after_a_request_for_changes(
    card, leg, buyer, seller, pictures, thread
):
    with pytest.raises(Refusal) as refused:
        answer(buyer, card, "withdraw")
    assert refused.value.code == "ACTION_FORBIDDEN"
    answer(seller, card, "withdraw")
    card.refresh_from_db()
    assert (card.state, card.is_open, card.due_at) == ("withdrawn", False, None)
    second = propose("proofs", leg, file_ids=pictures[:1])
    request_changes(second)
    answer(seller, second, "withdraw")
    second.refresh_from_db()
    assert (second.state, second.is_open, pending_for(thread)) == ("withdrawn", False, [])
    assert messages_of(thread)[-1].body.startswith(f"{seller.display_name} withdrew the proofs")
    assert list(list_differences(thread)) == []
    assert_consistent(thread)
