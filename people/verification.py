"""Verification: users ask for it, staff decide (moderation/actions/verification.py), and
`User.verified` is changed only here."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.core.mail import send_mail
from django.db import IntegrityError, transaction
from django.template.loader import render_to_string
from django.utils import timezone

from accounts.blocks import lock_users
from accounts.models import User, add_profile_entry
from core.refusals import Refusal
from files.actions import Readable, accept_file, discard_file, release_unused
from files.models import File
from people.models import VerificationRequest, VerificationState
from people.photos import lock_active_user
from threads.models.rate_buckets import take_token, upload_limits

log = structlog.get_logger(__name__)
# After a decline one can ask again after this time.
RETRY_DELAY = timedelta(days=7)
MAX_REQUESTS_PER_DAY = 3


@dataclass(frozen=True)
class VerificationStatus:
    """What a user sees of their own verification."""

    is_verified: bool
    request: VerificationRequest | None
    # When they can ask again; None if they can ask now.
    retry_at: datetime | None

    @property
    def is_pending(self) -> bool:
        return self.request is not None and self.request.is_pending

    @property
    def is_declined(self) -> bool:
        return self.request is not None and self.request.state == VerificationState.DECLINED

    @property
    def can_request(self) -> bool:
        return not (self.is_verified or self.is_pending or self.retry_at)


def get_status(user: User) -> VerificationStatus:
    """Costs one query."""
    newest = VerificationRequest.objects.filter(user=user).order_by("-created_at", "-id").first()
    return VerificationStatus(user.verified, newest, _retry_at(newest))


def _retry_at(newest: VerificationRequest | None) -> datetime | None:
    if newest is None or newest.state != VerificationState.DECLINED or newest.decided_at is None:
        return None
    retry_at = newest.decided_at + RETRY_DELAY
    return retry_at if retry_at > timezone.now() else None


def request_verification(
    user: User, *, link: str, note: str = "", document: Readable | None = None, name: str = ""
) -> VerificationRequest:
    """Returns the pending request, if there is one."""
    pending = VerificationRequest.objects.filter(user=user, state=VerificationState.PENDING).first()
    if pending is not None:
        return pending
    _check_can_request(user)
    file = _accept_document(user, document, name) if document else None
    try:
        return _save_request(user, VerificationRequest(user=user, link=link, note=note), file)
    except (Refusal, IntegrityError) as error:
        if file is not None:
            discard_file(file)
        if isinstance(error, Refusal):
            raise
        return VerificationRequest.objects.get(user=user, state=VerificationState.PENDING)


def _check_can_request(user: User) -> None:
    status = get_status(user)
    if status.is_verified:
        raise Refusal("ACTION_INVALID_STATE", "You're already verified.")
    if status.retry_at:
        day = timezone.localtime(status.retry_at)
        hint = f"You can ask again from {day:%-d %B}."
        raise Refusal("ACTION_INVALID_STATE", "It's too early to ask again.", hint=hint)
    since = timezone.now() - timedelta(days=1)
    recent = VerificationRequest.objects.filter(user=user, created_at__gt=since)
    if recent.count() >= MAX_REQUESTS_PER_DAY:
        message = "You've asked several times today."
        raise Refusal("RATE_LIMITED", message, hint="Try again tomorrow.", retry_after=86_400)


def _accept_document(user: User, document: Readable, name: str) -> File:
    take_token(user, upload_limits())
    return accept_file(user, thread_id="", name=name, content=document)


@transaction.atomic
def _save_request(
    user: User, request: VerificationRequest, file: File | None
) -> VerificationRequest:
    lock_active_user(user)
    if User.objects.filter(pk=user.pk, verified=True).exists():
        raise Refusal("ACTION_INVALID_STATE", "You're already verified.")
    request.document = file
    request.save(force_insert=True)
    return request


def withdraw_request(user: User) -> None:
    """Deletes the document. A repeat changes nothing."""
    with transaction.atomic():
        lock_active_user(user)
        pending = VerificationRequest.objects.filter(user=user, state=VerificationState.PENDING)
        request = pending.select_related("document").first()
        if request is None:
            return
        document, request.document = request.document, None
        request.state, request.decided_at = VerificationState.WITHDRAWN, timezone.now()
        request.save(update_fields=["state", "decided_at", "document"])
    if document is not None:
        discard_file(document)


# --- Decisions of staff


def get_request(request_id: str) -> VerificationRequest:
    found = VerificationRequest.objects.filter(pk=request_id).select_related("user", "document")
    request = found.first()
    if request is None:
        raise Refusal("VERIFICATION_NOT_FOUND")
    return request


def approve_request(staff: User, *, request_id: str) -> None:
    _inform(_decide(staff, request_id, VerificationState.APPROVED, ""))


def decline_request(staff: User, *, request_id: str, reason: str) -> None:
    """The user is shown the reason."""
    _inform(_decide(staff, request_id, VerificationState.DECLINED, reason))


@transaction.atomic
def _decide(staff: User, request_id: str, state: str, reason: str) -> VerificationRequest:
    """The document is kept for a while, like other released files, and deleted by cleanup."""
    lock_users([get_request(request_id).user_id])
    request = get_request(request_id)
    if not request.is_pending:
        raise Refusal("ACTION_INVALID_STATE", "This request was withdrawn or decided already.")
    if not request.user.is_active:
        raise Refusal("ACTION_INVALID_STATE", "This account is suspended.")
    request.state, request.reason = state, reason
    request.decided_at, request.decided_by = timezone.now(), staff
    request.save(update_fields=["state", "reason", "decided_at", "decided_by"])
    if request.document_id:
        release_unused([request.document_id])
    if state == VerificationState.APPROVED:
        _set_verified(request.user, is_verified=True)
    return request


@transaction.atomic
def revoke_verification(person: User) -> None:
    """Called under a case, where the reason is recorded."""
    _set_verified(person, is_verified=False)


def _set_verified(person: User, *, is_verified: bool) -> None:
    User.objects.filter(pk=person.pk).update(verified=is_verified)
    add_profile_entry(person)


def _inform(request: VerificationRequest) -> None:
    """Sends an email. Must not raise: the decision is stored, and the profile shows it."""
    try:
        context = {"request": request, "retry_at": _retry_at(request)}
        text = render_to_string("people/verification_mail.txt", context)
        is_approved = request.state == VerificationState.APPROVED
        subject = "You're verified" if is_approved else "Your verification request was declined"
        send_mail(subject, text, None, [request.user.email])
    except Exception:
        log.exception("verification_mail_failed", request=request.id)
