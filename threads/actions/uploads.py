"""Uploading a file before the message that it is attached to."""

from accounts.models import User
from files.actions import Readable, accept_file
from files.models import File
from threads import cache, policy
from threads.models.rate_buckets import take_token, upload_limits
from threads.permissions import check_can_write


def upload_file(user: User, *, thread_id: str, name: str, content: Readable) -> File:
    """No other user can see the file before it is sent. Its name is checked against the policy."""
    cached = cache.reload(thread_id)
    check_can_write(cached, user.id)
    take_token(user, upload_limits())
    policy.check_file_name(cached.thread, name)
    return accept_file(user, thread_id=thread_id, name=name, content=content)
