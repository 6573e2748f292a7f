"""The languages that a user can choose: ISO 639-1 codes, with their English names from CLDR."""

from functools import cache

from babel import Locale
from django.core.exceptions import ValidationError

MAX_LANGUAGES = 8
# Shown first in forms, because most users choose one of them.
COMMON = (
    *("ar", "bn", "cs", "da", "nl", "en", "fi", "fr", "de", "el", "hi", "id", "it", "ja"),
    *("ko", "pl", "pt", "ru", "es", "sv", "tr", "uk", "vi", "zh"),
)


@cache
def language_names() -> dict[str, str]:
    """All languages with a code of two letters, by name."""
    named = {code: name for code, name in Locale("en").languages.items() if len(code) == 2}
    return dict(sorted(named.items(), key=lambda pair: pair[1]))


def language_choices() -> list[tuple[str, str]]:
    """The common languages first, and then the others."""
    names = language_names()
    rest = [(code, name) for code, name in names.items() if code not in COMMON]
    return [*((code, names[code]) for code in COMMON), *rest]


def check_languages(languages: list[str]) -> None:
    if len(languages) > MAX_LANGUAGES:
        raise ValidationError(f"Choose at most {MAX_LANGUAGES} languages.", code="max")
    if not set(languages) <= language_names().keys():
        raise ValidationError("Choose languages from the list.", code="invalid_choice")
