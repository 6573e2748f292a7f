"""Circumvention before a booking: first a notice, then a cool-down, then a refusal."""

import io
import time
from uuid import uuid4

import pytest
import time_machine
from django.conf import settings

from contracts.models import Offer
from core.refusals import Refusal
from detection import judge
from files.models import File
from moderation.models import Case
from tests.contracts.conftest import book, offer_in, terms
from tests.threads.checker import assert_consistent
from tests.threads.conftest import make_person, messages_of, row, say, start, thread_item
from threads import cache
from threads.actions.messages import send_message
from threads.actions.revisions import edit_message
from threads.actions.start import start_thread
from threads.actions.uploads import upload_file
from threads.dynamodb.change import Change
from threads.dynamodb.store import count_requests
from threads.dynamodb.transactions import update
from threads.events import message_accepted
from threads.models import Thread
from threads.rendering.notices import policy_notice

NUMBER = "Call me on 0171 3920042"
MAIL = "Or write to me@lumenfold.example"


def refused(action) -> Refusal:
    with pytest.raises(Refusal) as refusal:
        action()
    return refusal.value


def later(seconds: float = 60):
    return time_machine.travel(time.time() + seconds, tick=True)


def test_the_first_strike_sends_the_message_with_a_notice_to_the_author(
    thread, buyer, seller, delivered
):
    sent = say(seller, thread, NUMBER)
    accepted = message_accepted(sent)
    assert "a telephone number" in accepted["notice"]
    assert messages_of(thread)[-1].flags == {"policy": ["phone"], "strike": 1}
    assert row(thread, seller).strikes == 1
    # The notice is shown to the author only.
    assert "notice" not in delivered.to(buyer, "message.sent")[-1]
    assert say(seller, thread, "And the shoot is in May")
    assert_consistent(thread)


def test_the_second_strike_sends_the_message_and_starts_a_cool_down(thread, seller):
    say(seller, thread, NUMBER)
    again = say(seller, thread, MAIL)
    assert f"{settings.POLICY_COOL_DOWN} seconds" in policy_notice(again)
    refusal = refused(lambda: say(seller, thread, "Are you there?"))
    assert refusal.code == "RATE_LIMITED"
    assert 0 < refusal.retry_after <= settings.POLICY_COOL_DOWN + 1
    with later():
        assert say(seller, thread, "Are you there?")
    assert_consistent(thread)


@pytest.mark.storage
def test_the_third_strike_refuses_the_message_opens_a_case_and_holds_the_author(
    thread, buyer, seller
):
    say(seller, thread, NUMBER)
    say(seller, thread, MAIL)
    before = len(messages_of(thread))
    with later():
        refusal = refused(lambda: say(seller, thread, "WhatsApp is quicker for me"))
    assert refusal.code == "MSG_POLICY_BLOCKED"
    assert "messenger" in refusal.message
    assert len(messages_of(thread)) == before
    case = Case.objects.get(thread_id=thread)
    assert (case.about, case.person) == ("circumvention", seller)
    assert case.reports.get().evidence["text"] == "WhatsApp is quicker for me"
    assert thread_item(thread).soft_block is None
    with later():
        assert refused(lambda: say(seller, thread, "Hm")).code == "SAFETY_SOFT_BLOCK"
        assert say(buyer, thread, "Are you there?")
    assert row(thread, seller).sending_hold["case"] == case.id


def test_a_severe_violation_is_refused_the_first_time(thread, seller):
    severe = f"{NUMBER}, mail me@lumenfold.example, pay me by PayPal, no fee for either of us"
    assert refused(lambda: say(seller, thread, severe)).code == "MSG_POLICY_BLOCKED"
    assert Case.objects.filter(thread_id=thread).exists()


UNCERTAIN = "I know a friendlier price when nobody else takes a slice"


def test_an_uncertain_match_only_gives_a_notice(thread, seller):
    assert not judge(UNCERTAIN).is_sure
    for text in (
        UNCERTAIN,
        f"{UNCERTAIN}, don't you think?",
        f"Honestly, {UNCERTAIN.lower()}",
        UNCERTAIN,
    ):
        sent = say(seller, thread, text)
        assert "until a booking is agreed" in policy_notice(sent).lower()
        assert "seconds" not in policy_notice(sent)
    assert not row(thread, seller).strikes
    assert not Case.objects.filter(thread_id=thread).exists()
    assert_consistent(thread)


def test_an_uncertain_match_does_not_refuse_an_edit(thread, seller):
    fields = say(seller, thread, "In May")
    edit_message(seller, thread_id=thread, message_id=fields.id, body=UNCERTAIN)
    assert messages_of(thread)[-1].body == UNCERTAIN


def test_a_number_split_over_messages_is_found(thread, seller):
    say(seller, thread, "my mobile starts with 0171")
    say(seller, thread, "392")
    assert "policy" in say(seller, thread, "0042").flags


@pytest.mark.storage
def test_a_repeated_message_adds_no_strike(thread, seller):
    client_id = str(uuid4())
    one = send_message(seller, thread_id=thread, client_id=client_id, body=NUMBER)
    for _ in range(3):
        same = send_message(seller, thread_id=thread, client_id=client_id, body=NUMBER)
        assert same.id == one.id
    assert row(thread, seller).strikes == 1


def test_the_policy_adds_no_request_to_a_send(thread, seller):
    say(seller, thread, "Hello")
    with count_requests() as requests:
        say(seller, thread, NUMBER)
    assert list(requests) == ["TransactWriteItems"]


def test_the_policy_does_not_apply_after_a_booking(thread, seller):
    item = thread_item(thread)
    update(item, Change(set={"kind": "project", "leg_id": "leg_1"}), Thread.pk.exists())
    cache.invalidate(thread)
    for text in (NUMBER, MAIL, "WhatsApp is quicker for me", NUMBER):
        assert say(seller, thread, text).flags is None


def test_the_policy_applies_to_edits(thread, seller):
    fields = say(seller, thread, "In May")
    change = lambda: edit_message(seller, thread_id=thread, message_id=fields.id, body=NUMBER)  # noqa: E731
    assert refused(change).code == "MSG_POLICY_BLOCKED"
    assert messages_of(thread)[-1].body == "In May"


def test_the_policy_applies_to_first_messages_and_subjects(buyer, seller):
    other = make_person("Kim")
    thread = start(buyer, other, NUMBER)
    assert row(thread, buyer).strikes == 1
    severe = f"{NUMBER} or me@lumenfold.example"
    with pytest.raises(Refusal) as refusal:
        start_thread(
            buyer,
            seller=seller,
            client_id=str(uuid4()),
            subject="PayPal me, no fee for us",
            body=severe,
        )
    assert refusal.value.code == "MSG_POLICY_BLOCKED"
    assert Case.objects.get(person=buyer, thread_id="").about == "circumvention"


VIOLATING_NAMES = [
    "call-me-0171-3920042.jpg",
    "mara@lumenfold.example.pdf",
    "WhatsApp Image me on 0171 3920042.jpeg",
    "paypal-me-mara.pdf",
]
# Default file names of phones, cameras and services, and ordinary names.
HARMLESS_NAMES = [
    "harbour-series_07_final.jpg",
    "IMG_20240501_123456.jpg",
    "DSC00123.jpg",
    "WhatsApp Image 2024-05-01 at 10.11.12.jpeg",
    "IMG-20240501-WA0012.jpg",
    "telegram-cloud-photo-size-2-5123456789012345678-y.jpg",
    "FB_IMG_1714557612345.jpg",
    "1714557612345.jpg",
    "Screenshot 2024-05-01 at 12.33.44.png",
    "PXL_20240501_123456789.jpg",
    "Quote 1,250 EUR, 12 May.pdf",
]


def upload(user, thread, name: str):
    content = io.BytesIO(b"Words")
    return upload_file(user, thread_id=thread, name=name, content=content)


@pytest.mark.parametrize("name", VIOLATING_NAMES)
def test_a_file_with_a_violating_name_is_refused(name, thread, seller):
    refusal = refused(lambda: upload(seller, thread, name))
    assert refusal.code == "MSG_POLICY_BLOCKED"
    assert refusal.message.startswith("The name of this file looks like ")
    assert not File.objects.filter(owner=seller).exists()


@pytest.mark.parametrize("name", HARMLESS_NAMES)
def test_default_file_names_give_no_notice(name, thread, seller):
    uploaded = upload(seller, thread, name)
    sent = say(seller, thread, "Have a look", attachments=[uploaded.id])
    assert policy_notice(sent) == ""


def test_a_number_split_between_text_and_file_name_is_found(thread, seller):
    uploaded = upload(seller, thread, "3920042.txt")
    sent = say(seller, thread, "Call me: 0171", attachments=[uploaded.id])
    assert "a telephone number" in policy_notice(sent)


@pytest.mark.parametrize(
    ("title", "url"),
    [("My reel", "https://t.me/lumenfold"), ("Call 0171 3920042", "https://vimeo.com/76979871")],
)
def test_the_policy_applies_to_links_and_their_titles(title, url, thread, seller):
    sent = say(seller, thread, "", links=[{"title": title, "url": url}])
    assert policy_notice(sent)
    assert row(thread, seller).strikes == 1


def test_a_harmless_link_is_not_joined_with_the_text(thread, seller):
    harmless = {"title": "Harbour, 2 min", "url": "https://vimeo.com/76979871"}
    assert not policy_notice(say(seller, thread, "Number 12 of the series", links=[harmless]))


@pytest.mark.parametrize("field", ["title", "service", "place"])
def test_the_policy_applies_to_every_text_of_an_offer(field, thread, buyer, seller):
    fields = {"title": NUMBER} if field == "title" else {}
    legs = [terms()] if field == "title" else [terms(), terms(**{field: NUMBER})]
    refusal = refused(lambda: offer_in(thread, seller, *legs, **fields))
    assert refusal.code == "MSG_POLICY_BLOCKED"
    assert "a telephone number" in refusal.message
    assert not Offer.objects.filter(thread_id=thread).exists()
    assert len(messages_of(thread)) == 1


def test_the_policy_does_not_apply_to_files_links_and_offers_after_a_booking(thread, buyer, seller):
    book(thread, buyer, seller)
    sent = say(
        seller,
        thread,
        NUMBER,
        attachments=[upload(seller, thread, VIOLATING_NAMES[0]).id],
        links=[{"title": NUMBER, "url": "https://t.me/lumenfold"}],
    )
    assert policy_notice(sent) == ""
    assert offer_in(thread, seller, terms(place=NUMBER))
