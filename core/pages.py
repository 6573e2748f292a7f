"""Pages made of fragments. A browser that has the current page is not sent it again.

What differs in every response is rendered as a slot, which is not part of a fragment's key and is
filled in at the end.
"""

import re
from datetime import datetime
from typing import Any, cast
from uuid import uuid4

from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.template import Context
from django.template.loader import get_template
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.utils.crypto import salted_hmac
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from core.fragments import render_fragment, slot
from core.time_zones import zone_of

CSRF_SLOT, CLIENT_ID_SLOT, PATH_SLOT = slot("csrf"), slot("client"), slot("path")
_CLOCK = re.compile(rf"{slot('clock')}\(([^()]*)\)")


def clock_slot(time_zone: str) -> str:
    """The current time in a zone, such as 14:05."""
    return f"{slot('clock')}({time_zone})"


def render_part(context: Context, template: str, values: dict[str, Any]) -> SafeString:
    """A part of a page, with these values and the CSRF token of the page."""
    if has_slots(context):
        return render_fragment(template, values | {"csrf_token": CSRF_SLOT})
    # A token differs in every response: the fragment would never be used again.
    values = values | {"csrf_token": context.get("csrf_token")}
    return mark_safe(get_template(template).render(values))


def has_slots(context: Context) -> bool:
    """Whether the page is rendered by one of the functions below, which fill the slots."""
    return bool(context.get("csrf_token") == CSRF_SLOT)


def render_page(
    request: HttpRequest, template: str, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    """A page that is not kept by any cache."""
    html = _fill(request, _render(request, template, context))
    return HttpResponse(html, status=status, headers={"Cache-Control": "no-store"})


def render_cacheable_page(
    request: HttpRequest, template: str, context: dict[str, Any]
) -> HttpResponse:
    """A page that the browser may keep, and revalidates before it shows it again."""
    html = _render(request, template, context)
    response = HttpResponse(_fill(request, html))
    response["Cache-Control"] = "private, no-cache"
    patch_vary_headers(response, ["Cookie", "X-Fragment"])
    response["ETag"] = etag = _etag(request, html)
    return cast(HttpResponse, get_conditional_response(request, etag=etag, response=response))


def _render(request: HttpRequest, template: str, context: dict[str, Any]) -> str:
    html = get_template(template).render(context | {"csrf_token": CSRF_SLOT}, request)
    return _CLOCK.sub(lambda found: f"{datetime.now(zone_of(found[1])):%H:%M}", html)


def _fill(request: HttpRequest, html: str) -> str:
    html = html.replace(CSRF_SLOT, get_token(request))
    html = html.replace(CLIENT_ID_SLOT, str(uuid4()))
    return html.replace(PATH_SLOT, escape(request.get_full_path()))


def _etag(request: HttpRequest, html: str) -> str:
    """Weak, since the slots are left out. It depends on the session and the CSRF secret: another
    session never gets a 304, and the tokens in a page that was kept are still valid."""
    parts = (request.session.session_key or "", request.META["CSRF_COOKIE"], html)
    digest = salted_hmac("core.pages", "\0".join(parts), algorithm="sha256").hexdigest()
    return f'W/"{digest[:32]}"'
