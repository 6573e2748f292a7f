"""Documents name people as they write themselves, in whatever script that is."""

import datetime
import io

import pytest
from pypdf import PdfReader

from contracts.documents import fonts, pdf

AT = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
NAMES = {
    "han": "山田 太郎",
    "hangul": "김민수",
    "arabic": "أحمد الكاتب",
    "hebrew": "דנה כהן",
    "thai": "นภา ศรีสุข",
    "devanagari": "प्रिया शर्मा",
}


def contract_with(name: str) -> bytes:
    clauses = [{"title": "Who", "text": f"Between {name} and Lena Vogel."}]
    signed = dict.fromkeys(("as", "signed", "address", "browser", "document"), "x")
    return pdf.contract(
        title=f"Contract: {name}",
        document_id="01J",
        version=1,
        issued_at=AT,
        clauses=clauses,
        signatures=[{"legal_name": name, **signed}],
    )


def fonts_of(paper: bytes) -> set[str]:
    pages = PdfReader(io.BytesIO(paper)).pages
    return {name for page in pages for name in page["/Resources"]["/Font"]}


@pytest.mark.parametrize(("font", "name"), NAMES.items(), ids=NAMES)
def test_a_name_of_another_script_is_drawn_and_can_be_copied_out(font, name):
    assert fonts.replace_undrawable(name) == name
    assert fonts.list_fallback_fonts(name) == [font]
    pages = PdfReader(io.BytesIO(contract_with(name))).pages
    text = "".join(page.extract_text() for page in pages)
    assert "(U+" not in text
    # Joined letters and vowels come out in the order in which they are drawn: all are there.
    assert set(name) - {" "} <= set(text)


def test_the_same_name_gives_the_same_bytes():
    assert contract_with(NAMES["arabic"]) == contract_with(NAMES["arabic"])


def test_a_document_in_latin_letters_carries_our_font_alone():
    ours = fonts_of(contract_with("Łukasz Müller"))
    assert len(ours) == 2  # regular and bold
    assert len(fonts_of(contract_with(NAMES["han"])) - ours) == 1


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("Bea 🙂", "Bea (U+1F642)"),
        ("gpj\u202egnp", "gpj(U+202E)gnp"),
        ("Le\u200bna", "Le(U+200B)na"),
        ("Le\u200cna", "Le(U+200C)na"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("one\ntwo", "one\ntwo"),
    ],
)
def test_what_no_font_has_or_nobody_would_see_is_named(text, drawn):
    assert fonts.replace_undrawable(text) == drawn


def test_a_font_that_is_not_asked_for_is_not_opened():
    fonts.font_characters.cache_clear()
    contract_with("Lena Vogel")
    assert fonts.font_characters.cache_info().currsize == 1


def test_a_number_within_words_from_the_right_parts_the_street_from_its_town():
    clauses = [{"title": "Place", "text": "At שדרות 47 חיפה, Berlin"}]
    made = pdf.contract(
        title="Contract", document_id="01J", version=1, issued_at=AT, clauses=clauses
    )
    places: dict[str, float] = {}

    def note(text, _matrix, placed, *_):
        for sign in ("At", "ש", "47", "ח", "Berlin"):
            if sign in text:
                places.setdefault(sign, placed[4])

    PdfReader(io.BytesIO(made)).pages[0].extract_text(visitor_text=note)
    assert sorted(places, key=lambda sign: places[sign]) == ["At", "ח", "47", "ש", "Berlin"]
