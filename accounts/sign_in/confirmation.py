"""Sending the confirmation email of a sign-up again."""

from allauth.account.internal.flows.email_verification import send_verification_email_to_address
from allauth.account.models import EmailAddress
from django.http import HttpRequest

# In the session of a visitor who signed up or tried to sign in without confirming the address.
SESSION_KEY = "unconfirmed_email"


def remember_unconfirmed(request: HttpRequest, email: str) -> None:
    request.session[SESSION_KEY] = email.lower()


def resend_confirmation(request: HttpRequest) -> bool:
    """False if none was sent, because of the rate limit of the address.

    The result does not depend on whether the address has an account: its owner gets an email that
    says so."""
    email = request.session.get(SESSION_KEY, "")
    if not email:
        return False
    unconfirmed = EmailAddress.objects.filter(email=email, user__email=email, verified=False)
    address = unconfirmed.select_related("user").first() or EmailAddress(user=None, email=email)
    return bool(send_verification_email_to_address(request, address, signup=True))
