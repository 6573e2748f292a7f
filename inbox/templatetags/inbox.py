"""The inbox beside a conversation: threads do not know of inboxes, so their pages ask here."""

from django import template
from django.http import HttpRequest

from inbox.rows import Column, column_of
from threads.models.participant import INBOX

register = template.Library()


@register.simple_tag
def conversations(request: HttpRequest, folder: str = "", current: str = "") -> Column:
    return column_of(request.user, folder or INBOX, current=current)  # type: ignore[arg-type]
