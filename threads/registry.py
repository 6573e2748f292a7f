"""Where other apps add to a conversation without being imported by it.

`projects` registers here what a booking adds: how cards look, what the thread page shows beside the
messages, who else may see a file, and what to settle after a crash. See docs/architecture.md.
"""

from collections.abc import Callable
from typing import Any

from accounts.models import User
from files.models import File
from threads.cache import CachedThread
from threads.models import Message, Thread

# By type of message: what its template shows beyond the text.
message_renderers: dict[str, Callable[[Message, CachedThread], dict[str, Any] | None]] = {}
# Each adds to the context of the thread page: (user, opened, can_write, current_tab).
page_sections: list[Callable[[User, Any, bool, str], dict[str, Any]]] = []
# Each says whether this user may see the file, apart from the messages that it is attached to.
file_viewers: list[Callable[[User, Thread, File], bool]] = []
# Run by the hourly cleanup; each returns how many it settled.
cleanup_jobs: list[Callable[[], int]] = []
