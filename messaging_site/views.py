from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe


@require_safe
def welcome(request: HttpRequest) -> HttpResponse:
    if request.user.is_authenticated:
        return redirect("inbox:inbox")
    return render(request, "site/welcome.html")


# What the page about a reached limit says, by the name of the page that was limited.
LIMIT_HINTS = {
    "account_reset_password": "Links we've already sent still work. Check your spam folder, or try "
    "again in an hour.",
    "account_email": "You've changed your address several times. Try again in an hour.",
    "account_signup": "Several accounts were created from your network. Try again in an hour.",
}
DEFAULT_LIMIT_HINT = "Wait a minute, then try again."


def too_many_requests(request: HttpRequest) -> HttpResponse:
    """The page for a limit of the account pages, with what to do about it."""
    name = request.resolver_match.url_name if request.resolver_match else None
    hint = LIMIT_HINTS.get(name or "", DEFAULT_LIMIT_HINT)
    return render(request, "429.html", {"hint": hint}, status=429)
