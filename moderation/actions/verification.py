"""Decisions of staff about verification, which are recorded in the audit."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from accounts.models import User
from core.refusals import Refusal
from files.models import File
from moderation.audit import record
from moderation.roles import WORK
from people.models import VerificationRequest
from people.verification import approve_request, decline_request, get_request


def access_request(staff: User, request_id: str) -> VerificationRequest:
    """For staff other than the user whom it is about."""
    request = get_request(request_id)
    if not staff.has_perm(WORK) or request.user == staff:
        raise Refusal("VERIFICATION_NOT_FOUND")
    return request


def approve_verification(staff: User, *, request_id: str, reason: str = "") -> None:
    """`reason` is for the audit only."""
    with _recorded(staff, "verification.approve", request_id, reason):
        approve_request(staff, request_id=request_id)


def decline_verification(staff: User, *, request_id: str, reason: str) -> None:
    """The user is shown the reason."""
    with _recorded(staff, "verification.decline", request_id, reason):
        decline_request(staff, request_id=request_id, reason=reason)


@contextmanager
def _recorded(staff: User, act: str, request_id: str, reason: str) -> Iterator[None]:
    request = access_request(staff, request_id)
    audit: dict[str, Any] = {"case_id": "", "target": request.id, "person": request.user_id}
    record(staff, act, reason=reason, **audit)
    try:
        yield
    except Refusal as refusal:
        record(staff, f"{act}.refused", code=refusal.code, **audit)
        raise


def view_document(staff: User, *, request_id: str) -> File:
    """Each view is recorded before the document is shown."""
    request = access_request(staff, request_id)
    if request.document is None:
        raise Refusal("VERIFICATION_NOT_FOUND")
    record(
        staff,
        "verification.document",
        case_id="",
        target=request.id,
        person=request.user_id,
        file=request.document.id,
    )
    return request.document
