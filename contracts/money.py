"""Formatting of amounts: whole minor units with a currency."""

from decimal import Decimal

from babel import Locale
from babel.numbers import format_currency, get_currency_symbol, get_decimal_symbol

from contracts.currencies import decimal_places
from core.locales import find_locale


def format_amount(cents: int, currency: str, *, locale: str = "") -> str:
    """For example "EUR 1,200.00". `locale` is a viewer's language tag; documents, system messages
    and fragments have none, because they are the same for all viewers."""
    if found := find_locale(locale):
        return _localise(cents, currency, found)
    sign = "-" if cents < 0 else ""
    return f"{sign}{currency} {abs(to_decimal(cents, currency)):,f}"


def _localise(cents: int, currency: str, locale: Locale) -> str:
    """Babel writes a code right before the digits; CLDR has a space there."""
    text = format_currency(to_decimal(cents, currency), currency, locale=locale)
    symbol = get_currency_symbol(currency, locale=locale)
    before, _, after = text.partition(symbol)
    if symbol[-1].isalpha() and after[:1].isdecimal():
        return f"{before}{symbol}\u00a0{after}"
    return text


def format_amount_input(cents: int, currency: str, *, locale: str = "") -> str:
    """The value of a text input, which `parse_amount` reads as the same amount in this locale."""
    return f"{to_decimal(cents, currency):f}".replace(".", decimal_separator(locale) or ".")


def to_decimal(cents: int, currency: str) -> Decimal:
    """In major units, with the decimal places of the currency."""
    return Decimal(cents).scaleb(-decimal_places(currency))


def decimal_separator(locale: str) -> str:
    """A point or a comma; empty if the locale is unknown."""
    found = find_locale(locale)
    symbol = get_decimal_symbol(found) if found else ""
    return symbol if symbol in (".", ",") else ""
