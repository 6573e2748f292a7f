"""What an author is told about a message that was stored all the same."""

from collections.abc import Iterable

from django.conf import settings

from detection import REASONS
from threads.models import Message

POLICY_EXPLANATION = "Until a booking is agreed, talk and pay here: it protects you both."


def describe_reasons(reasons: Iterable[str]) -> str:
    told = [REASONS[reason] for reason in reasons]
    return " and ".join(filter(None, [", ".join(told[:-1]), told[-1]]))


def policy_notice(message: Message) -> str:
    """What its author is told beside that it was stored."""
    flags = message.flags or {}
    if "policy" not in flags:
        return ""
    said = f"This looks like {describe_reasons(flags['policy'])}. {POLICY_EXPLANATION}"
    if flags["strike"] > 1:
        said += f" You can write again in {settings.POLICY_COOL_DOWN} seconds."
    return said
