"""The locale of a request, from its Accept-Language header."""

import pkgutil
from functools import cache, lru_cache

from babel import Locale, UnknownLocaleError
from django.conf import locale as django_locales
from django.http import HttpRequest
from django.utils.translation.trans_real import parse_accept_lang_header

MAX_CACHED_TAGS = 1000


def locale_of(request: HttpRequest) -> str:
    """The preferred language tag, or an empty string without one."""
    preferred = parse_accept_lang_header(request.headers.get("Accept-Language", ""))
    return preferred[0][0] if preferred else ""


@lru_cache(maxsize=MAX_CACHED_TAGS)
def find_locale(tag: str) -> Locale | None:
    """The formats of a language tag such as "de-CH", or of its language; None if unknown."""
    tag = tag.lower().replace("_", "-")
    return _locales().get(tag) or _locales().get(tag.partition("-")[0])


@cache
def _locales() -> dict[str, Locale]:
    """By language tag, for the locales of Django. Babel keeps each locale that was used in memory
    and has over a thousand, so that not every tag of a request may load one."""
    names = (found.name for found in pkgutil.iter_modules(django_locales.__path__))
    parsed = {name.lower().replace("_", "-"): _parse(name) for name in names}
    return {tag: locale for tag, locale in parsed.items() if locale is not None}


def _parse(name: str) -> Locale | None:
    try:
        return Locale.parse(name)
    except (UnknownLocaleError, ValueError):
        return None
