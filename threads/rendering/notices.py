"""The notice that an author is shown about a stored message that looks like a policy breach."""

from collections.abc import Iterable

from django.conf import settings

from core.refusals import REFUSALS
from detection import REASONS
from threads.models import Message
from threads.rendering.labels import wait_notice

POLICY_EXPLANATION = REFUSALS["MSG_POLICY_BLOCKED"].hint


def describe_reasons(reasons: Iterable[str]) -> str:
    names = [REASONS[reason] for reason in reasons]
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def policy_notice(message: Message) -> str:
    """Empty for a message without a finding."""
    flags = message.flags or {}
    if "policy" not in flags:
        return ""
    notice = f"This looks like {describe_reasons(flags['policy'])}. {POLICY_EXPLANATION}"
    if flags["strike"] > 1:
        notice += f" {wait_notice(settings.POLICY_COOL_DOWN)}"
    return notice
