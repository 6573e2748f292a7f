"""The locale of a request, from its Accept-Language header."""

from django.http import HttpRequest
from django.utils.translation.trans_real import parse_accept_lang_header


def locale_of(request: HttpRequest) -> str:
    """The preferred language tag, or an empty string without one."""
    preferred = parse_accept_lang_header(request.headers.get("Accept-Language", ""))
    return preferred[0][0] if preferred else ""
