"""Pages for errors that views do not handle."""

import sys

from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views import defaults

from messaging_site.middleware import render_database_unavailable

# Hints on the rate limit page, by URL name.
LIMIT_HINTS = {
    "account_reset_password": "Links we've already sent still work. Check your spam folder, or try "
    "again in an hour.",
    "account_email": "You've changed your address several times. Try again in an hour.",
    "account_signup": "Several accounts were created from your network. Try again in an hour.",
}
DEFAULT_LIMIT_HINT = "Wait a minute, then try again."


def too_many_requests(request: HttpRequest) -> HttpResponse:
    """The page for a reached rate limit, with a hint for the account page."""
    name = request.resolver_match.url_name if request.resolver_match else None
    hint = LIMIT_HINTS.get(name or "", DEFAULT_LIMIT_HINT)
    return render(request, "429.html", {"hint": hint}, status=429)


def server_error(request: HttpRequest) -> HttpResponse:
    """Handles errors outside views, such as a database outage in the session middleware."""
    if isinstance(sys.exc_info()[1], OperationalError):
        return render_database_unavailable(request)
    return defaults.server_error(request)
