"""Validation of one-line texts in a profile."""

import pytest
from django.core.exceptions import ValidationError

from accounts.profiles.text import check_line, check_policy


@pytest.mark.parametrize("text", ["Zoë", "Nguyễn Thị", "न्न्त्र्य", "ที่นี่", "שָׁלוֹם"])
def test_letters_of_any_script_with_marks_are_valid(text):
    check_line(text)


def test_too_many_combining_marks_are_refused():
    with pytest.raises(ValidationError, match="fewer marks"):
        check_line("Z" + "\u0300\u0301\u0302" * 5 + "algo")


@pytest.mark.parametrize("text", ["0171 3920042", "mara@lumenfold.example"])
def test_contact_details_are_refused(text):
    with pytest.raises(ValidationError, match="looks like"):
        check_policy(text)


@pytest.mark.parametrize("text", ["mara-lindqvist", "Lisbon", "Studio 54", "Portraits since 1998"])
def test_ordinary_descriptions_are_valid(text):
    check_policy(text)
