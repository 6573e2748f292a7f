"""The words and phrases in `detection/data`, and how a text is read with them."""

import re
from collections import Counter

import pytest

from detection import lexicon, reading
from detection.lexicon import FOLDER, TABLES, read_file
from detection.normalise import fold
from detection.reading import GATES, read

FILES = sorted(FOLDER.glob("*.txt"))
LANGUAGES = {"en", "de", "es", "fr", "pt", "it", "nl", "pl", "tr", "ar", "ja", "zh", "ko"}
NUMBER = re.compile(r"[^=,]+=(?:\d+|x[23])")


def test_there_is_a_file_for_each_language():
    assert {path.stem for path in FILES} == LANGUAGES | {"common"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_consists_of_a_comment_sections_and_entries(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("# ")
    entries = [*read_file(path)]
    assert entries
    for section, text in entries:
        assert fold(text).strip(), text
        assert text == " ".join(text.split()), text
        assert text.count("*") == text.endswith("*"), text
        assert ("=" in text) == (section == "numbers"), text
        assert section != "numbers" or NUMBER.fullmatch(text), text


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_entry_occurs_twice_in_a_section(path):
    assert [entry for entry, count in Counter(read_file(path)).items() if count > 1] == []


def test_sections_are_read_with_comments_and_line_breaks(tmp_path):
    path = tmp_path / "xx.txt"
    path.write_text("# Comment\n\n[out]\noff the\nbooks, bypass*\n[cash]\nbar\n", encoding="utf-8")
    assert [*read_file(path)] == [("out", "off the books"), ("out", "bypass*"), ("cash", "bar")]


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("Do you have Telegram?", "messenger"),
        ("tele\u200bgram", "messenger"),
        ("Теlegram", "messenger"),
        ("t e l e g r a m", "messenger"),
        ("t3legram", "messenger"),
        ("ＴＥＬＥＧＲＡＭ", "messenger"),
        ("Kontaktformular", "contact"),
        ("let's SWAP  numbers", "proposal"),
        ("加我微信", "messenger"),
        ("카톡으로", "messenger"),
        ("PayPayで", "payservice"),
    ],
)
def test_a_word_has_its_meaning_in_any_form(text, meaning):
    assert read(text).has(meaning)


@pytest.mark.parametrize("text", ["xtelegram", "the barn", "swap numbersign"])
def test_a_word_is_not_found_within_another_one(text):
    assert not read(text).has("messenger", "cash", "proposal")


def test_positions_are_far_apart_in_different_sentences():
    assert read("call me on telegram").near("contact", "messenger", 3)
    assert not read("call me. telegram").near("contact", "messenger", 40)


def test_a_setting_adds_words(settings):
    settings.POLICY_WORDS = ["Lumenchat"]
    caches = (lexicon.lexicon, lexicon.meanings_of, reading.read_word)
    for cached in caches:
        cached.cache_clear()
    try:
        assert read("Find me on lumenchat").has("messenger")
    finally:
        settings.POLICY_WORDS = []
        for cached in caches:
            cached.cache_clear()


def test_an_ordinary_text_opens_no_gate():
    assert read("the light in the garden is best before lunch, i think.").gates == frozenset()


@pytest.mark.parametrize(
    ("text", "gate"),
    [
        ("0171 392 0042", "digits"),
        ("m4ra", "mixed"),
        ("m a r a s", "spaced"),
        ("@mara", "sign"),
        ("mara.example", "dotted"),
        ("mara (at) home", "bracket"),
        ("moc.elpmaxe", "backwards"),
        ("mara . com", "parted"),
        ("📞 me", "rings"),
        ('"mara"', "quotes"),
    ],
)
def test_a_text_opens_its_gate(text, gate):
    assert gate in read(text).gates


def test_every_gate_is_tested():
    assert len(GATES) == 10


def test_tables_are_not_meanings():
    assert not read("wa.me seven book").has(*TABLES)
