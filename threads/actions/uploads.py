"""Bringing a file for a message to come."""

from accounts.models import User
from files.actions import Readable, accept_file
from files.models import File
from threads import cache as states
from threads import policy
from threads.actions.messages import check_may_write
from threads.actions.rate_limits import spend, upload_limits


def bring_file(user: User, *, thread_id: str, name: str, content: Readable) -> File:
    """It is nobody's to see until it is in a message; what its name says is looked at before."""
    state = states.look(thread_id)
    check_may_write(state, user.id)
    spend(user, upload_limits())
    policy.check_file_name(state.thread, name)
    return accept_file(user, thread_id=thread_id, name=name, content=content)
