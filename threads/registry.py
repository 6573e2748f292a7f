"""The registry through which other apps extend a conversation without being imported by it.

`projects` registers what a booking adds: renderers of cards, sections of the thread page, viewers
of files, and cleanup jobs. See docs/architecture.md.
"""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest

from accounts.models import User
from files.models import File
from threads.cache import CachedThread
from threads.models import Message, Thread

# The template context of a message beyond its text, by type of message.
message_renderers: dict[str, Callable[[Message, CachedThread], dict[str, Any] | None]] = {}
# Each adds to the context of the thread page: (user, opened, can_write, current_tab).
page_sections: list[Callable[[User, Any, bool, str], dict[str, Any]]] = []
# Each adds to the context of every page with a thread what its sidebar shows: (request, thread id).
sidebars: list[Callable[[HttpRequest, str], dict[str, Any]]] = []
# Each returns whether the user can see a file for other reasons than its messages.
file_viewers: list[Callable[[User, Thread, File], bool]] = []
# Run by the hourly cleanup; each returns how many records it changed.
cleanup_jobs: list[Callable[[], int]] = []
