"""The demo data must be consistent on every date on which it is loaded."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

import pytest

from demo import content
from demo.content import DemoConversation, DemoMessage
from people.search.query import PAGE_SIZE

# An ordinary day, and days with calendar edge cases.
MOMENTS = [
    datetime(2026, 11, 16, 9, 30, tzinfo=UTC),
    datetime(2026, 11, 16, 3, 12, 44, 123456, tzinfo=UTC),
    datetime(2027, 1, 1, 0, 0, tzinfo=UTC),
    datetime(2027, 3, 28, 1, 30, tzinfo=UTC),
    datetime(2027, 7, 4, 22, 5, tzinfo=ZoneInfo("America/Sao_Paulo")),
    datetime(2027, 10, 31, 0, 59, tzinfo=UTC),
    datetime(2028, 2, 29, 23, 59, 59, tzinfo=UTC),
]
NOW = MOMENTS[0]
PEOPLE = {person.key: person for person in content.people()}
FAR_APART = 40
ROOT = content.FOLDER.parent.parent


@cache
def loaded(now: datetime) -> dict[str, DemoConversation]:
    return {conversation.key: conversation for conversation in content.conversations(now)}


def every_message(now: datetime) -> list[tuple[str, DemoMessage]]:
    return [
        (key, message)
        for key, conversation in loaded(now).items()
        for message in conversation.messages
    ]


def sentences(text: str) -> list[str]:
    pieces = re.split(r"(?<=[.!?…])[\"*]*\s+|\n+", text)
    words = (" ".join(re.findall(r"\w+", piece.lower())) for piece in pieces)
    return [piece for piece in words if piece]


@cache
def written() -> dict[str, dict[str, str]]:
    files = [content.FOLDER / "long.json", *content.FOLDER.glob("conversations/*.json")]
    stories = [json.loads(file.read_text("utf-8")) for file in files]
    return {story["key"]: story for story in stories}


@pytest.fixture(params=MOMENTS, ids=str)
def now(request: pytest.FixtureRequest) -> datetime:
    return request.param


# --- Users ------------------------------------------------------------------------------------


def test_a_dozen_users_live_in_at_least_eight_time_zones():
    zones = {person.time_zone for person in PEOPLE.values()}
    assert len(PEOPLE) >= 12
    assert len(zones) >= 8
    assert zones <= available_timezones()


def test_every_user_passes_the_sign_up_rules():
    for person in [*PEOPLE.values(), *(seller.person for seller in content.sellers())]:
        assert re.fullmatch(r"[a-z0-9][a-z0-9-]{1,28}[a-z0-9]", person.handle)
        assert re.fullmatch(r"[a-z]+@parley\.example", person.email)
        assert 0 < len(person.display_name) <= 60
        assert 0 < len(person.headline) <= 120
        assert 0 < len(person.about) <= 2000
        assert 0 < len(person.city) <= 80


def test_keys_handles_and_addresses_are_unique():
    rows = [*content.people(), *(seller.person for seller in content.sellers())]
    for name in ("key", "handle", "email"):
        assert len({getattr(row, name) for row in rows}) == len(rows)


def test_names_are_written_in_more_than_one_script():
    names = " ".join(person.display_name for person in PEOPLE.values())
    assert re.search("[\u4e00-\u9fff]", names)
    assert re.search("[\u0600-\u06ff]", names)
    assert re.search("[à-ÿ]", names)


@pytest.mark.parametrize("key", ["mara", "tomas"])
def test_the_two_main_users_have_about_ten_conversations(key: str):
    mine = [
        conversation
        for conversation in loaded(NOW).values()
        if key in (conversation.buyer, conversation.seller)
    ]
    assert 9 <= len(mine) <= 12
    assert any(conversation.unread_for.get(key) for conversation in mine)
    assert any(key in conversation.pinned_by for conversation in mine)
    assert any(key in conversation.archived_by for conversation in mine)


def test_a_user_can_be_a_buyer_and_a_seller():
    conversations = loaded(NOW).values()
    assert {conversation.buyer for conversation in conversations} & {
        conversation.seller for conversation in conversations
    } >= {"mara", "tomas"}


# --- Conversations ----------------------------------------------------------------------------


def test_two_dozen_conversations_have_at_least_six_languages():
    conversations = loaded(NOW).values()
    assert len(conversations) >= 24
    assert len(content.conversations(NOW)) == len(conversations)
    assert len({conversation.language for conversation in conversations}) >= 6
    assert "ar" in {conversation.language for conversation in conversations}


def test_lengths_range_from_one_message_to_two_thousand():
    lengths = sorted(len(conversation.messages) for conversation in loaded(NOW).values())
    assert lengths[0] == 1
    assert 55 <= lengths[-2] <= 70
    assert lengths[-1] == 2000


def test_ages_range_from_minutes_to_more_than_a_year():
    ages = sorted(NOW - conversation.messages[-1].at for conversation in loaded(NOW).values())
    assert ages[0] < timedelta(hours=1)
    assert ages[-1] > timedelta(days=365)


def test_every_user_named_by_a_conversation_is_a_participant():
    for conversation in loaded(NOW).values():
        sides = {conversation.buyer, conversation.seller}
        assert len(sides) == 2
        assert sides <= PEOPLE.keys()
        assert {message.author for message in conversation.messages} <= sides
        assert {
            *conversation.pinned_by,
            *conversation.archived_by,
            *conversation.unread_for,
        } <= sides


def test_unread_messages_are_the_last_ones_of_the_other_participant():
    for conversation in loaded(NOW).values():
        for reader, count in conversation.unread_for.items():
            assert 0 < count <= len(conversation.messages)
            assert reader not in {message.author for message in conversation.messages[-count:]}


def test_no_text_exceeds_the_limits(now: datetime):
    for conversation in loaded(now).values():
        assert 0 < len(conversation.subject) <= 120
        assert 0 < len(conversation.city) <= 80
    assert all(0 < len(message.text.strip()) <= 8000 for _, message in every_message(now))


# --- Texts ------------------------------------------------------------------------------------


def test_every_placeholder_in_a_text_is_filled(now: datetime):
    for key, message in every_message(now):
        assert not re.search(r"[{}<|]", message.text), (key, message.text)


def test_texts_have_no_contact_details_or_off_platform_services():
    about = [person.about + person.headline for person in PEOPLE.values()]
    subjects = [conversation.subject for conversation in loaded(NOW).values()]
    off_platform = r"whatsapp|telegram|signal me|paypal|venmo|bizum|iban|e-?mail|gmail|instagram"
    for text in [*about, *subjects, *(message.text for _, message in every_message(NOW))]:
        assert "@" not in text, text
        assert not re.search(r"(?:\d[\s().\-/–]{0,2}){7,}", text), text
        assert not re.search(off_platform, text, re.IGNORECASE), text


def test_links_lead_to_the_example_domain_only():
    links = [
        link
        for _, message in every_message(NOW)
        for link in re.findall(r"\w+://\S+|\bwww\.\S+", message.text)
    ]
    assert len(links) > 20
    assert all(link.startswith("https://example.com/") for link in links)


@pytest.mark.parametrize(
    "mark",
    [r"\*\*\w", r"(?<!\*)\*\w", r"^- ", r"^1\. ", r"^> "],
    ids=["bold", "italic", "list", "numbers", "quote"],
)
def test_texts_use_every_supported_markdown_element(mark: str):
    used = {
        key for key, message in every_message(NOW) if re.search(mark, message.text, re.MULTILINE)
    }
    assert len(used) >= 2


def test_no_text_becomes_a_list_because_it_begins_with_a_number():
    for key, message in every_message(NOW):
        listed = re.findall(r"^\d+[.)](?:\s|$)", message.text, re.MULTILINE)
        assert len(listed) != 1, (key, message.text)


def test_the_long_conversation_repeats_no_sentence_within_forty_messages(now: datetime):
    last_seen: dict[str, int] = {}
    for number, message in enumerate(loaded(now)["mara-tomas"].messages):
        for sentence in sentences(message.text):
            before = last_seen.get(sentence, number - FAR_APART)
            assert number - before >= FAR_APART or before == number, (number, sentence)
            last_seen[sentence] = number


def test_the_long_conversation_repeats_no_long_message_within_a_season():
    last_seen: dict[str, DemoMessage] = {}
    for message in loaded(NOW)["mara-tomas"].messages:
        before = last_seen.get(message.text)
        if before and len(message.text) > 60:
            assert message.at - before.at > timedelta(days=90), message.text
        last_seen[message.text] = message


def test_every_sentence_of_the_long_conversation_starts_with_a_capital():
    for message in loaded(NOW)["mara-tomas"].messages:
        for piece in re.split(r"(?<=[.!?])\s+", message.text):
            assert not re.match(r"[a-zåäöçé]", piece) or piece.startswith("http"), message.text


def test_the_long_conversation_has_both_authors_and_lasts_two_years():
    messages = loaded(NOW)["mara-tomas"].messages
    counts = Counter(message.author for message in messages)
    assert min(counts.values()) > 800
    assert timedelta(days=700) < messages[-1].at - messages[0].at < timedelta(days=760)


def test_seasons_in_the_long_conversation_match_the_calendar():
    months = {
        message.at.month
        for message in loaded(NOW)["mara-tomas"].messages
        if "36 degrees" in message.text or "Nortada" in message.text
    }
    assert months
    assert months <= {5, 6, 7, 8}


def test_one_wedding_has_the_same_date_in_both_conversations(now: datetime):
    invitations = [
        loaded(now)[key].messages[0].text
        for key in ("aoife-tomas-wedding", "aoife-mara-wedding-shoes")
    ]
    [one], [other] = (re.findall(r"\d+ September", text) for text in invitations)
    assert one == other
    assert f"Saturday {one}" in invitations[0]


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", "Tuesday 1 December"),
        ("de", "Dienstag, 1. Dezember"),
        ("es", "martes 1 de diciembre"),
        ("fr", "mardi 1er décembre"),
        ("pt-BR", "terça-feira, 1º de dezembro"),
        ("ja", "12月1日（火）"),
        ("ar", "الثلاثاء 1 كانون الأول"),
    ],
)
def test_dates_are_written_in_the_style_of_each_language(language: str, words: str):
    assert f"{content.Day(datetime(2026, 12, 1).date(), language)}" == words


# --- Times ------------------------------------------------------------------------------------


def test_times_increase_and_are_never_in_the_future(now: datetime):
    for conversation in loaded(now).values():
        times = [message.at for message in conversation.messages]
        assert all(at.tzinfo is UTC for at in times)
        assert all(before < after for before, after in zip(times, times[1:], strict=False)), (
            conversation.key
        )
        assert times[-1] < now


def test_the_last_message_is_as_old_as_the_file_says(now: datetime):
    for conversation in loaded(now).values():
        age = content.duration(written()[conversation.key]["ended"])
        late = now - age - conversation.messages[-1].at
        # From one day on, the age is rounded to an hour at which users are awake.
        max_late = timedelta(days=1) if age >= timedelta(days=1) else timedelta(0)
        assert timedelta(0) <= late <= max_late, conversation.key


def test_users_mostly_write_while_they_are_awake(now: datetime):
    settled = [m for _, m in every_message(now) if m.at < now - timedelta(days=2)]
    awake = [m for m in settled if 7 <= local_hour(m) < 22]
    assert len(awake) >= 0.98 * len(settled)


def local_hour(message: DemoMessage) -> int:
    return message.at.astimezone(ZoneInfo(PEOPLE[message.author].time_zone)).hour


def test_the_same_moment_gives_the_same_conversations_in_every_process():
    code = (
        "from datetime import datetime; from demo import content;"
        f"print(content.conversations(datetime.fromisoformat('{NOW.isoformat()}')))"
    )
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONUTF8": "1"}
        printed = subprocess.check_output(
            [sys.executable, "-c", code], env=env, text=True, encoding="utf-8", cwd=ROOT
        )
        assert printed == f"{content.conversations(NOW)}\n"


def test_the_sellers_fill_a_page_of_the_directory():
    offered = [*content.services().values(), *(seller.services for seller in content.sellers())]
    assert len(offered) > PAGE_SIZE
    assert len({craft for services in offered for craft in services["crafts"]}) > 15
    assert len({seller.person.city for seller in content.sellers()}) > 12
