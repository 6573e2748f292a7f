"""Anonymises a user: personal data is deleted; the row stays for records that the law requires."""

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from axes.models import AccessAttempt
from django.utils import timezone

from accounts.models import Block, SignIn, User
from accounts.sign_in.sessions import end_sign_in
from core.outbox.models import OutboxEntry
from core.time_zones import UTC

NAME = "Deleted person"


def anonymise_user(user: User) -> None:
    """Runs in the transaction of the caller. Idempotent."""
    for sign_in in SignIn.objects.filter(user=user):
        end_sign_in(sign_in)
    EmailAddress.objects.filter(user=user).delete()
    Authenticator.objects.filter(user=user).delete()
    AccessAttempt.objects.filter(username=user.email.lower()).delete()
    for block in Block.objects.filter(blocker=user):
        payload = {"blocker": user.id, "blocked": block.blocked_id}
        block.delete()
        OutboxEntry.objects.create(kind="block", payload=payload)
    user.earlier_names.all().delete()
    user.groups.clear()
    user.user_permissions.clear()
    tail = user.id.removeprefix("usr_").lower()
    user.email, user.handle = f"{tail}@deleted.invalid", f"d-{tail}"
    user.display_name, user.time_zone = NAME, UTC
    user.avatar = user.headline = user.about = user.city = ""
    user.verified = user.is_active = user.is_staff = user.is_superuser = False
    user.requires_verified = user.requires_date = user.requires_budget = False
    user.has_new_report_answer = False
    user.onboarding_step = ""
    user.muted_until = user.last_login = None
    user.deleted_at = timezone.now()
    user.set_unusable_password()
    user.save()
