"""Leaving the marketplace before a booking: a word, then a pause, then it is not sent."""

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


def test_first_a_word_to_the_author_and_the_message_is_sent(thread, buyer, seller, delivered):
    sent = say(seller, thread, NUMBER)
    accepted = message_accepted(sent)
    assert "a telephone number" in accepted["notice"]
    assert messages_of(thread)[-1].flags == {"policy": ["phone"], "strike": 1}
    assert row(thread, seller).strikes == 1
    # Nobody else is told what was noticed.
    assert "notice" not in delivered.to(buyer, "message.sent")[-1]
    assert say(seller, thread, "And the shoot is in May")
    assert_consistent(thread)


def test_then_a_pause_and_the_text_is_not_lost(thread, seller):
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
def test_then_it_is_not_sent_a_case_opens_and_its_author_is_held(thread, buyer, seller):
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


def test_what_is_gross_is_not_sent_the_first_time(thread, seller):
    gross = f"{NUMBER}, mail me@lumenfold.example, pay me by PayPal, no fee for either of us"
    assert refused(lambda: say(seller, thread, gross)).code == "MSG_POLICY_BLOCKED"
    assert Case.objects.filter(thread_id=thread).exists()


GUESSED = "I know a friendlier price when nobody else takes a slice"


def test_a_guess_is_a_word_to_the_author_and_never_more(thread, seller):
    assert not judge(GUESSED).is_sure
    for text in (GUESSED, f"{GUESSED}, don't you think?", f"Honestly, {GUESSED.lower()}", GUESSED):
        sent = say(seller, thread, text)
        assert "until a booking is agreed" in policy_notice(sent).lower()
        assert "seconds" not in policy_notice(sent)
    assert not row(thread, seller).strikes
    assert not Case.objects.filter(thread_id=thread).exists()
    assert_consistent(thread)


def test_a_guess_refuses_no_edit(thread, seller):
    said = say(seller, thread, "In May")
    edit_message(seller, thread_id=thread, message_id=said.id, body=GUESSED)
    assert messages_of(thread)[-1].body == GUESSED


def test_a_number_in_pieces_is_read_as_one(thread, seller):
    say(seller, thread, "my mobile starts with 0171")
    say(seller, thread, "392")
    assert "policy" in say(seller, thread, "0042").flags


@pytest.mark.storage
def test_a_repeat_of_what_was_stored_is_not_refused_and_costs_nothing_more(thread, seller):
    client_id = str(uuid4())
    one = send_message(seller, thread_id=thread, client_id=client_id, body=NUMBER)
    for _ in range(3):
        same = send_message(seller, thread_id=thread, client_id=client_id, body=NUMBER)
        assert same.id == one.id
    assert row(thread, seller).strikes == 1


def test_it_costs_a_send_no_request(thread, seller):
    say(seller, thread, "Hello")
    with count_requests() as requests:
        say(seller, thread, NUMBER)
    assert list(requests) == ["TransactWriteItems"]


def test_after_a_booking_there_is_nothing_to_notice(thread, seller):
    item = thread_item(thread)
    update(item, Change(set={"kind": "project", "leg_id": "leg_1"}), Thread.pk.exists())
    cache.invalidate(thread)
    for text in (NUMBER, MAIL, "WhatsApp is quicker for me", NUMBER):
        assert say(seller, thread, text).flags is None


def test_an_edit_is_no_way_round(thread, seller):
    said = say(seller, thread, "In May")
    change = lambda: edit_message(seller, thread_id=thread, message_id=said.id, body=NUMBER)  # noqa: E731
    assert refused(change).code == "MSG_POLICY_BLOCKED"
    assert messages_of(thread)[-1].body == "In May"


def test_nor_is_a_first_message_or_its_subject(buyer, seller):
    other = make_person("Kim")
    thread = start(buyer, other, NUMBER)
    assert row(thread, buyer).strikes == 1
    gross = f"{NUMBER} or me@lumenfold.example"
    with pytest.raises(Refusal) as refusal:
        start_thread(
            buyer,
            seller=seller,
            client_id=str(uuid4()),
            subject="PayPal me, no fee for us",
            body=gross,
        )
    assert refusal.value.code == "MSG_POLICY_BLOCKED"
    assert Case.objects.get(person=buyer, thread_id="").about == "circumvention"


SAID = [
    "call-me-0171-3920042.jpg",
    "mara@lumenfold.example.pdf",
    "WhatsApp Image me on 0171 3920042.jpeg",
    "paypal-me-mara.pdf",
]
# As phones, cameras and other services call what one saves from them, and as people call things.
SAYS_NOTHING = [
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


@pytest.mark.parametrize("name", SAID)
def test_what_a_file_is_called_is_read_before_it_is_taken(name, thread, seller):
    refusal = refused(lambda: upload(seller, thread, name))
    assert refusal.code == "MSG_POLICY_BLOCKED"
    assert refusal.message.startswith("The name of this file looks like ")
    assert not File.objects.filter(owner=seller).exists()


@pytest.mark.parametrize("name", SAYS_NOTHING)
def test_names_that_phones_and_cameras_give_say_nothing(name, thread, seller):
    brought = upload(seller, thread, name)
    sent = say(seller, thread, "Have a look", attachments=[brought.id])
    assert policy_notice(sent) == ""


def test_a_number_split_between_the_words_and_the_name_of_a_file_is_noticed(thread, seller):
    brought = upload(seller, thread, "3920042.txt")
    sent = say(seller, thread, "Call me: 0171", attachments=[brought.id])
    assert "a telephone number" in policy_notice(sent)


@pytest.mark.parametrize(
    ("title", "url"),
    [("My reel", "https://t.me/lumenfold"), ("Call 0171 3920042", "https://vimeo.com/76979871")],
)
def test_links_are_read_with_their_titles(title, url, thread, seller):
    sent = say(seller, thread, "", links=[{"title": title, "url": url}])
    assert policy_notice(sent)
    assert row(thread, seller).strikes == 1


def test_a_harmless_link_is_not_taken_together_with_the_words_before_it(thread, seller):
    harmless = {"title": "Harbour, 2 min", "url": "https://vimeo.com/76979871"}
    assert not policy_notice(say(seller, thread, "Number 12 of the series", links=[harmless]))


@pytest.mark.parametrize("field", ["title", "service", "place"])
def test_so_is_every_text_of_an_offer(field, thread, buyer, seller):
    said = {"title": NUMBER} if field == "title" else {}
    legs = [terms()] if field == "title" else [terms(), terms(**{field: NUMBER})]
    refusal = refused(lambda: offer_in(thread, seller, *legs, **said))
    assert refusal.code == "MSG_POLICY_BLOCKED"
    assert "a telephone number" in refusal.message
    assert not Offer.objects.filter(thread_id=thread).exists()
    assert len(messages_of(thread)) == 1


def test_once_a_booking_is_agreed_nothing_of_it_is_asked(thread, buyer, seller):
    book(thread, buyer, seller)
    sent = say(
        seller,
        thread,
        NUMBER,
        attachments=[upload(seller, thread, SAID[0]).id],
        links=[{"title": NUMBER, "url": "https://t.me/lumenfold"}],
    )
    assert policy_notice(sent) == ""
    assert offer_in(thread, seller, terms(place=NUMBER))
