"""Audit entries as sentences."""

from typing import Any

from django.db.models import F, OuterRef, QuerySet, Subquery
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Coalesce

from accounts.models import User
from moderation.models import AuditEntry, Case

REFUSED = ".refused"
# `{target}` is the name of the user concerned.
SENTENCES = {
    "case.take": "took the case",
    "case.note": "added a note",
    "case.resolve": "resolved the case",
    "case.reopen": "reopened the case",
    "case.look": "viewed the evidence",
    "case.export": "exported the evidence",
    "thread.read": "read more of the conversation",
    "records.read": "read the booking's records",
    "file.look": "viewed a file",
    "message.hide": "hid a message",
    "message.unhide": "showed a hidden message again",
    "message.redact": "redacted a message",
    "thread.lock": "locked the conversation",
    "thread.unlock": "unlocked the conversation",
    "thread.hold": "put the conversation on hold",
    "thread.lift_hold": "lifted the hold on the conversation",
    "card.decide": "decided on a card",
    "person.mute": "muted {target}",
    "person.unmute": "unmuted {target}",
    "person.release": "let {target} send messages again",
    "person.suspend": "suspended {target}",
    "person.restore": "restored {target}'s account",
    "person.remove_photo": "removed {target}'s photo",
    "person.clear_portfolio": "cleared {target}'s portfolio",
    "person.revoke_verification": "revoked {target}'s verification",
    "verification.approve": "verified {target}",
    "verification.decline": "declined to verify {target}",
    "verification.document": "viewed a document of {target}",
}


def with_names(entries: QuerySet[AuditEntry]) -> QuerySet[AuditEntry]:
    """Adds the names that the sentences need, in the same query: the audit has ids only."""
    cases = Case.objects.filter(pk=OuterRef("case"))
    return entries.annotate(
        # Entries about verification have the user in their details.
        person=KeyTextTransform("person", "details"),
        actor_name=_name_of("actor"),
        target_name=Coalesce(_name_of("target"), _name_of("person")),
        case_about=Subquery(cases.values("about")[:1]),
        case_person=Subquery(cases.values(name=F("person__display_name"))[:1]),
    )


def _name_of(field: str) -> Subquery:
    return Subquery(User.objects.filter(pk=OuterRef(field)).values("display_name")[:1])


def describe(entry: Any) -> str:
    """What was done, by whom and why; `entry` comes from `with_names`."""
    actor = entry.actor_name or entry.actor
    reason = f": {entry.reason}" if entry.reason else "."
    return f"{actor} {_done(entry)}{reason}"


def _done(entry: Any) -> str:
    act = entry.act.removesuffix(REFUSED)
    text = SENTENCES.get(act, act).replace("{target}", entry.target_name or "a user")
    if act == "person.mute" and (days := entry.details.get("days")):
        text += f" for {days} day{'' if days == 1 else 's'}"
    if act == "case.take" and entry.details.get("before"):
        text = "took the case over"
    if entry.act.endswith(REFUSED):
        return f"was refused ({entry.details.get('code', '')}); nothing changed: “{text}”"
    return text


def describe_case(entry: Any) -> str:
    """The case of an entry, such as "A message: Rob"."""
    if not entry.case_about:
        return str(entry.case) or "Verification"
    label = Case.About(entry.case_about).label
    return f"{label}: {entry.case_person}" if entry.case_person else label
