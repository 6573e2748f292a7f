"""The locale of a request, as the browser states it."""

from django.http import HttpRequest
from django.utils.translation.trans_real import parse_accept_lang_header


def locale_of(request: HttpRequest) -> str:
    """The language tag that the browser prefers; empty if it states none."""
    preferred = parse_accept_lang_header(request.headers.get("Accept-Language", ""))
    return preferred[0][0] if preferred else ""
