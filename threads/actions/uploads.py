"""Bringing a file for a message to come."""

from accounts.models import User
from files.actions import Readable, accept_file
from files.models import File
from threads import cache, policy
from threads.actions.messages import check_can_write
from threads.actions.rate_limits import take_token, upload_limits


def upload_file(user: User, *, thread_id: str, name: str, content: Readable) -> File:
    """It is nobody's to see until it is in a message; what its name says is looked at before."""
    cached = cache.reload(thread_id)
    check_can_write(cached, user.id)
    take_token(user, upload_limits())
    policy.check_file_name(cached.thread, name)
    return accept_file(user, thread_id=thread_id, name=name, content=content)
