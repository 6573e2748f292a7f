"""The parser for amounts: typed text in the user's locale, and ambiguous text is refused."""

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.amounts import MAX_AMOUNT_CHARS, AmountError, parse_amount
from contracts.currencies import CURRENCIES, decimal_places
from contracts.models.fields import MAX_CENTS
from contracts.money import format_amount, format_amount_input

# These parse the same in every locale.
UNAMBIGUOUS = {
    "0": 0,
    "7": 7_00,
    "007": 7_00,
    "1200": 1_200_00,
    "1200.5": 1_200_50,
    "1200,50": 1_200_50,
    ".5": 50,
    " 12.30 ": 12_30,
    "1,200.50": 1_200_50,
    "1.200,50": 1_200_50,
    "1,200,000": 1_200_000_00,
    "1.200.000": 1_200_000_00,
    "1.200.000,5": 1_200_000_50,
    "1 200": 1_200_00,
    "1\u00a0200,50": 1_200_50,
    "1\u202f200": 1_200_00,
    "1\u2009200.50": 1_200_50,
    "1'200.50": 1_200_50,
    "1\u2019200": 1_200_00,
    "100,000,000.00": MAX_CENTS,
}


@pytest.mark.parametrize("locale", ["", "en-GB", "de", "de-CH", "fr-FR", "xx", "*"])
@pytest.mark.parametrize(("text", "cents"), UNAMBIGUOUS.items())
def test_an_unambiguous_amount_parses_the_same_in_every_locale(text, cents, locale):
    assert parse_amount(text, currency="EUR", locale=locale) == cents


@pytest.mark.parametrize(
    ("text", "locale"),
    [
        *(("1,200", locale) for locale in ("en", "en-US", "en-gb", "en-ZA", "es-MX")),
        *(("1.200", locale) for locale in ("de", "de-AT", "pt-BR", "it", "nl_NL", "fr")),
    ],
)
def test_the_locale_decides_the_thousands_separator(text, locale):
    assert parse_amount(text, currency="EUR", locale=locale) == 1_200_00


@pytest.mark.parametrize(
    ("text", "locale"),
    [*(("1,200", locale) for locale in ("", "de", "fr", "xx")), ("1.200", ""), ("1.200", "en")],
)
def test_an_ambiguous_amount_is_refused_with_both_readings(text, locale):
    with pytest.raises(AmountError, match=r"^Did you mean 1,200\.00 or 1\.20\?"):
        parse_amount(text, currency="EUR", locale=locale)


@pytest.mark.parametrize(
    ("text", "says"),
    {
        "": "Enter an amount.",
        "  ": "Enter an amount.",
        "1E+150000": "in digits",
        "1e5": "in digits",
        "-5": "in digits",
        "+5": "in digits",
        "NaN": "in digits",
        "inf": "in digits",
        "1_000": "in digits",
        "0x10": "in digits",
        "1,20,000": "in digits",
        "1,200,00": "in digits",
        "1 200 00": "in digits",
        "1..5": "in digits",
        "12.": "in digits",
        "12a": "in digits",
        "\u0661\u0662": "in digits",
        "\uff11\uff12": "in digits",
        "1\n200": "in digits",
        "0.500": "two decimal places",
        "12.3456": "two decimal places",
        "1 200.500": "two decimal places",
        "100000000.01": "too large",
        "999999999999999": "too large",
        "1" * (MAX_AMOUNT_CHARS + 1): "at most 15 characters",
        "9" * 1_000_000: "at most 15 characters",
    }.items(),
    ids=lambda value: str(value)[:12],
)
@pytest.mark.parametrize("locale", ["", "en", "de"])
def test_text_that_is_no_amount_is_refused_with_a_message(text, says, locale):
    with pytest.raises(AmountError, match=says):
        parse_amount(text, currency="EUR", locale=locale)


@pytest.mark.parametrize("value", [None, 5, 1.5, 10**400, True, ["5"], {"amount": "5"}, b"5"])
def test_only_text_is_parsed(value):
    with pytest.raises(AmountError):
        parse_amount(value, currency="EUR")


@given(st.integers(0, MAX_CENTS), st.sampled_from([("'", "."), ("\u202f", ","), ("", ".")]))
def test_every_formatted_amount_is_parsed_back(cents, marks):
    group, point = marks
    whole, rest = divmod(cents, 100)
    text = f"{whole:,}".replace(",", group) + f"{point}{rest:02d}"
    assert parse_amount(text, currency="EUR") == cents


@given(
    st.text(st.sampled_from("0123456789.,' eE+-\u00a0"), max_size=20),
    st.sampled_from(["", "en", "de"]),
)
def test_any_text_is_parsed_or_refused(text, locale):
    with contextlib.suppress(AmountError):
        assert 0 <= parse_amount(text, currency="EUR", locale=locale) <= MAX_CENTS


@pytest.mark.parametrize(
    ("text", "currency", "locale", "amount"),
    [
        *(("1,234", "JPY", locale, 1234) for locale in ("", "en", "de", "ja")),
        *(("1.234", "JPY", locale, 1234) for locale in ("", "en", "de", "ja")),
        ("120000", "JPY", "", 120_000),
        ("12.5", "KWD", "", 12_500),
        ("12.500", "KWD", "", 12_500),
        ("12.500", "KWD", "en", 12_500),
        ("12,500", "KWD", "de", 12_500),
        ("12.500", "KWD", "de", 12_500_000),
        ("12,500", "KWD", "en", 12_500_000),
        ("1 234,567", "KWD", "fr", 1_234_567),
    ],
)
def test_the_decimal_places_are_those_of_the_currency(text, currency, locale, amount):
    assert parse_amount(text, currency=currency, locale=locale) == amount


@pytest.mark.parametrize(
    ("text", "currency", "says"),
    [
        ("12.5", "JPY", "^Amounts in JPY have no decimal places.$"),
        ("1,234.00", "JPY", "^Amounts in JPY have no decimal places.$"),
        ("12.3456", "KWD", "^Use at most three decimal places.$"),
        ("12.345", "EUR", "^Did you mean 12,345.00 or 12.34?"),
        ("12,345", "KWD", r"^Did you mean 12,345.000 or 12.345\? Enter 12345 or 12.345.$"),
        ("twelve", "JPY", "for example 1200.$"),
        ("twelve", "KWD", "for example 1200 or 1200.500.$"),
    ],
)
def test_too_many_decimal_places_are_refused_by_currency(text, currency, says):
    with pytest.raises(AmountError, match=says):
        parse_amount(text, currency=currency)


@given(
    st.integers(0, MAX_CENTS),
    st.sampled_from(CURRENCIES),
    st.sampled_from(["", "en", "de", "de-CH", "fr", "ja", "ar", "pt-BR", "xx"]),
)
def test_what_an_input_shows_is_parsed_as_the_same_amount(cents, currency, locale):
    text = format_amount_input(cents, currency, locale=locale)
    assert parse_amount(text, currency=currency, locale=locale) == cents


# Stored amounts mean something else if a new version of Babel disagrees.
PLACES = {
    0: {"CLP", "ISK", "JPY", "KRW", "VND"},
    3: {"BHD", "JOD", "KWD", "OMR", "TND"},
}


def test_the_decimal_places_are_those_of_iso_4217():
    for currency in CURRENCIES:
        wanted = next((places for places, codes in PLACES.items() if currency in codes), 2)
        assert decimal_places(currency) == wanted, currency


@pytest.mark.parametrize(
    ("cents", "currency", "locale", "shown"),
    [
        (120_000, "EUR", "", "EUR 1,200.00"),
        (120_000, "JPY", "", "JPY 120,000"),
        (12_500, "KWD", "", "KWD 12.500"),
        (-5, "KWD", "xx", "-KWD 0.005"),
        (0, "EUR", "*", "EUR 0.00"),
        (120_000, "EUR", "en-US", "€1,200.00"),
        (120_000, "EUR", "de-AT", "1.200,00\u00a0€"),
        (120_000, "EUR", "de-CH", "EUR\u00a01\u2019200.00"),
        (120_000, "JPY", "de", "120.000\u00a0¥"),
        (12_500, "KWD", "fr", "12,500\u00a0KWD"),
        (12_500, "KWD", "en", "KWD\u00a012.500"),
        (-12_500, "KWD", "en", "-KWD\u00a012.500"),
    ],
)
def test_an_amount_is_formatted_for_all_or_in_the_viewers_locale(cents, currency, locale, shown):
    assert format_amount(cents, currency, locale=locale) == shown


def test_hostile_text_is_parsed_quickly():
    shapes = ["1E+9999999", "9" * 10**6, "1,200" * 10**5, " " * 10**6, ".," * 10**5, "1 " * 10**5]
    started = time.perf_counter()
    for text in shapes:
        with pytest.raises(AmountError):
            parse_amount(text, currency="EUR", locale="en")
    assert time.perf_counter() - started < 0.05
