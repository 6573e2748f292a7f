"""The thread page section of a request: who its sender is."""

from typing import Any

from accounts.models import User
from threads.queries import OpenedThread
from threads.views.thread_page import is_request_recipient


def request_sender_section(
    user: User, opened: OpenedThread, can_write: bool, current_tab: str
) -> dict[str, Any]:
    """The only query is for a request that the user has not answered."""
    if not is_request_recipient(opened.me):
        return {}
    other_ids = [user_id for user_id in opened.cached.people if user_id != user.id]
    return {"sender": User.objects.filter(pk__in=other_ids[:1]).first()}
