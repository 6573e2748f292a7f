import unicodedata
from collections import Counter

import pytest
from django.template import Context, Template
from hypothesis import given
from hypothesis import strategies as st

from accounts.profiles.avatars import avatar_tone, initials
from core.ids import new_user_id


@pytest.mark.parametrize(
    ("name", "letters"),
    [
        ("Mara Lind", "ML"),
        ("mara", "M"),
        ("Ana María de la Cruz", "AC"),
        ("Jean-Luc Picard", "JP"),
        ("(Ida) 'Bo' Ek", "IE"),
        ("E\u0301lodie Noir", "ÉN"),  # The accent is a separate combining character.
        ("ß-Studio", "ß"),
        ("Ольга Ким", "ОК"),
        ("Νίκος Παπάς", "ΝΠ"),
        ("ნინო ბერიძე", "ნბ"),  # Georgian has no capital letters in names.
        ("王小明", "王"),
        ("김 민준", "김민"),
        ("क्षितिज कुमार", "क्षिकु"),
        ("สมชาย ใจดี", "สใ"),
        ("محمد علي", "م\u200cع"),
        ("משה כהן", "מכ"),
        ("👩🏽‍🚀 Studio", "👩🏽‍🚀S"),
        ("🇵🇪 🇩🇪", "🇵🇪🇩🇪"),
        ("007", "0"),
        ("", ""),
    ],
)
def test_initials_of(name, letters):
    assert initials(name) == unicodedata.normalize("NFC", letters)


@given(st.text(max_size=60))
def test_initials_of_any_name_are_short_and_never_begin_with_a_combining_mark(name):
    letters = initials(name)
    assert bool(letters) == bool(name.split())
    assert len(letters) <= len(unicodedata.normalize("NFC", name)) + 1


def test_the_colour_of_a_user_is_stable():
    assert avatar_tone("usr_01ARZ3NDEKTSV4RRFFQ69G5FAV") == 2


def test_all_colours_are_used_about_evenly():
    tones = Counter(avatar_tone(new_user_id()) for _ in range(6000))
    assert set(tones) == set(range(12))
    assert max(tones.values()) < 2 * min(tones.values())


def test_initials_and_colour_are_available_in_templates():
    page = Template("{% load people %}{{ name|initials }} {{ id|tone }}")
    shown = page.render(Context({"name": "<b> Ek", "id": "usr_01ARZ3NDEKTSV4RRFFQ69G5FAV"}))
    assert shown == "BE 2"
