"""The parser for amounts of money in forms.

It turns text into whole cents. Nothing is rounded or guessed: ambiguous text is refused with both
readings. All currencies in `CURRENCIES` have two decimal places.
"""

import pkgutil
import re
from functools import cache

from django.conf import locale as django_locales
from django.utils.formats import get_format

from contracts.models.fields import MAX_CENTS

MAX_AMOUNT_CHARS = 15

# Space, no-break space, figure space, thin space, narrow no-break space: all group thousands.
_SPACES = dict.fromkeys(map(ord, " \u00a0\u2007\u2009\u202f"), " ")
_APOSTROPHES = dict.fromkeys(map(ord, "'\u2019\u02bc"), "'")
_PLAIN = re.compile(r"(?P<whole>[0-9]*)(?:[.,](?P<cents>[0-9]{1,2}))?")
_GROUPED = re.compile(
    r"(?P<whole>[1-9][0-9]{0,2}(?P<group>[ '.,])[0-9]{3}(?:(?P=group)[0-9]{3})*)"
    r"(?:(?!(?P=group))[.,](?P<cents>[0-9]{1,2}))?"
)
_MORE_DECIMALS = re.compile(r"[0-9 ']*[.,][0-9]{3,}")


class AmountError(ValueError):
    """Text that is not an amount. The message is shown to the user."""


def parse_amount(text: str, *, locale: str = "") -> int:
    """Returns cents. `locale` is a language tag such as "de-CH", or empty if unknown."""
    if not isinstance(text, str) or not (text := text.strip()):
        raise AmountError("Enter an amount.")
    if len(text) > MAX_AMOUNT_CHARS:
        raise AmountError(f"Use at most {MAX_AMOUNT_CHARS} characters for an amount.")
    text = text.translate(_SPACES | _APOSTROPHES)
    if found := _GROUPED.fullmatch(text):
        _check_is_clear(found, locale)
    elif not (found := _PLAIN.fullmatch(text)):
        raise _not_an_amount(text)
    cents = _cents(found)
    if cents > MAX_CENTS:
        raise AmountError("That amount is too large.")
    return cents


def _cents(found: re.Match[str]) -> int:
    whole = re.sub(r"[^0-9]", "", found["whole"])
    return int((whole or "0") + (found["cents"] or "").ljust(2, "0"))


def _not_an_amount(text: str) -> AmountError:
    if _MORE_DECIMALS.fullmatch(text):
        return AmountError("Use at most two decimal places.")
    return AmountError("Enter an amount in digits, for example 1200 or 1200.50.")


def _check_is_clear(found: re.Match[str], locale: str) -> None:
    """One comma or point before three digits means thousands only if the locale groups so."""
    whole, group = found["whole"], found["group"]
    if group not in ".," or found["cents"] or whole.count(group) > 1:
        return
    if decimal_separator(locale) not in ("", group):
        return
    thousands, units = whole.replace(group, ""), whole.replace(group, ".")[:-1]
    raise AmountError(
        f"Did you mean {int(thousands):,}.00 or {units}? Enter {thousands} or {units}."
    )


def decimal_separator(locale: str) -> str:
    """A point or a comma; empty if the locale is unknown."""
    known, tag = _decimal_separators(), locale.lower().replace("_", "-")
    return known.get(tag) or known.get(tag.partition("-")[0]) or ""


@cache
def _decimal_separators() -> dict[str, str]:
    """By language tag, for the locales that Django has formats for."""
    names = [found.name for found in pkgutil.iter_modules(django_locales.__path__)]
    tags = [name.lower().replace("_", "-") for name in names]
    found = {tag: get_format("DECIMAL_SEPARATOR", tag, use_l10n=True) for tag in tags}
    return {tag: separator for tag, separator in found.items() if separator in (".", ",")}
