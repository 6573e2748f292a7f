import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.profiles.handles import RESERVED, handle_from_name, is_handle, with_number
from accounts.queries import suggest_handle


@pytest.mark.parametrize("handle", ["abc", "mara-lind", "3d-studio", "a--b", "x" * 30, "007"])
def test_a_valid_handle_is_accepted(handle):
    assert is_handle(handle)


@pytest.mark.parametrize(
    "handle",
    ["", "ab", "x" * 31, "-abc", "abc-", "Mara", "ma ra", "ma_ra", "mära", "abc\n", "a/b", "..."],
)
def test_an_invalid_handle_is_refused(handle):
    assert not is_handle(handle)


@pytest.mark.parametrize("handle", ["admin", "support", "settings", "me", "parley", "start"])
def test_a_reserved_handle_is_refused(handle):
    assert not is_handle(handle)


@pytest.mark.parametrize(
    ("name", "handle"),
    [
        ("Mara Lind", "mara-lind"),
        ("Zoë Müller", "zoe-muller"),
        ("Seán O'Brien", "sean-obrien"),
        ("  J.  R. ", "j-r"),
        ("Al", "al-1"),
        ("王小明", "person"),
        ("Support", "person"),
        ("x" * 60, "x" * 30),
    ],
)
def test_a_handle_is_suggested_from_the_name(name, handle):
    assert handle_from_name(name) == handle


@given(st.text(max_size=60), st.integers(0, 10**9))
def test_suggested_handles_are_always_valid(name, number):
    assert is_handle(handle_from_name(name))
    assert is_handle(with_number(handle_from_name(name), number))


def test_suggestions_are_never_based_on_reserved_words():
    assert all(handle_from_name(word) == "person" for word in RESERVED)


@pytest.mark.storage
def test_the_next_free_handle_is_suggested(make_person):
    for handle in ("ada-free", "ada-free-2", "ada-free-4"):
        make_person(handle=handle)
    assert suggest_handle("Ada Free") == "ada-free-3"
