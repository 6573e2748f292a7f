"""The inbox beside a conversation: threads do not know of inboxes, so their pages ask here."""

from django import template
from django.http import HttpRequest

from inbox.rows import LABELS, InboxColumn, get_column
from threads.models.participant import INBOX

register = template.Library()


@register.simple_tag
def conversations(request: HttpRequest, current: str = "") -> InboxColumn:
    """The one that it was opened from."""
    folder = request.GET.get("in", INBOX)
    folder = folder if folder in LABELS else INBOX
    return get_column(request.user, folder, current=current)  # type: ignore[arg-type]
