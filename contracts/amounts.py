"""The parser for amounts of money in forms.

It turns text into whole minor units of a currency. Nothing is rounded or guessed: ambiguous text is
refused with both readings.
"""

import re

from contracts.currencies import decimal_places
from contracts.models.fields import MAX_CENTS
from contracts.money import decimal_separator
from contracts.refusals import AMOUNT_TOO_LARGE

MAX_AMOUNT_CHARS = 15

# Space, no-break space, figure space, thin space, narrow no-break space: all group thousands.
_SPACES = dict.fromkeys(map(ord, " \u00a0\u2007\u2009\u202f"), " ")
_APOSTROPHES = dict.fromkeys(map(ord, "'\u2019\u02bc"), "'")
_PLAIN = re.compile(r"(?P<whole>[0-9]*)(?:[.,](?P<decimals>[0-9]+))?")
_GROUPED = re.compile(
    r"(?P<whole>[1-9][0-9]{0,2}(?P<group>[ '.,])[0-9]{3}(?:(?P=group)[0-9]{3})*)"
    r"(?:(?!(?P=group))[.,](?P<decimals>[0-9]+))?"
)
_NUMBER_NAMES = {2: "two", 3: "three"}


class AmountError(ValueError):
    """Text that is not an amount. The message is shown to the user."""


def parse_amount(text: str, *, currency: str, locale: str = "") -> int:
    """Returns minor units. `locale` is a language tag such as "de-CH", or empty if unknown."""
    if not isinstance(text, str) or not (text := text.strip()):
        raise AmountError("Enter an amount.")
    if len(text) > MAX_AMOUNT_CHARS:
        raise AmountError(f"Use at most {MAX_AMOUNT_CHARS} characters for an amount.")
    text = text.translate(_SPACES | _APOSTROPHES)
    found = _match(text, currency, locale)
    places, decimals = decimal_places(currency), found["decimals"] or ""
    if len(decimals) > places:
        raise AmountError(_too_precise(currency, places))
    whole = re.sub(r"[^0-9]", "", found["whole"])
    cents = int((whole or "0") + decimals.ljust(places, "0"))
    if cents > MAX_CENTS:
        raise AmountError(AMOUNT_TOO_LARGE)
    return cents


def _match(text: str, currency: str, locale: str) -> re.Match[str]:
    plain = _PLAIN.fullmatch(text)
    grouped = _GROUPED.fullmatch(text)
    if grouped and plain and plain["decimals"]:
        return plain if _is_decimal(grouped, currency, locale) else grouped
    if found := grouped or plain:
        return found
    examples = {0: "1200", 2: "1200 or 1200.50", 3: "1200 or 1200.500"}[decimal_places(currency)]
    raise AmountError(f"Enter an amount in digits, for example {examples}.")


def _is_decimal(found: re.Match[str], currency: str, locale: str) -> bool:
    """Whether the only comma or point, before three digits, separates decimals. Raises if both are
    possible."""
    places, group = decimal_places(currency), found["group"]
    separator = decimal_separator(locale)
    if not places or separator not in ("", group):
        return False
    # Inputs without a known locale are shown with a point.
    if places == 3 and group == (separator or "."):
        return True
    thousands = found["whole"].replace(group, "")
    units = found["whole"].replace(group, ".")[: places - 3 or None]
    raise AmountError(
        f"Did you mean {int(thousands):,}.{'0' * places} or {units}? Enter {thousands} or {units}."
    )


def _too_precise(currency: str, places: int) -> str:
    if not places:
        return f"Amounts in {currency} have no decimal places."
    return f"Use at most {_NUMBER_NAMES[places]} decimal places."
