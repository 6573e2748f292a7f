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
    """The common languages first, and then the others, each by name."""
    choices = language_names().items()
    common = [(code, name) for code, name in choices if code in COMMON]
    return common + [(code, name) for code, name in choices if code not in COMMON]


def check_languages(languages: list[str]) -> None:
    if len(languages) > MAX_LANGUAGES:
        raise ValidationError(f"Choose at most {MAX_LANGUAGES} languages.", code="max")
    if not set(languages) <= language_names().keys():
        raise ValidationError("Choose languages from the list.", code="invalid_choice")
