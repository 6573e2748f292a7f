from django.http import HttpRequest

from accounts.models import User


class AuthenticatedRequest(HttpRequest):
    """The request of a view behind `login_required`."""

    user: User
    # Correlation id, set by messaging_site.middleware.
    corr_id: str
