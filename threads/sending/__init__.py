"""Appends messages to a thread: the transaction of a send, with its conflicts and retries.

docs/data-model.md, "Sending", describes what is written and on which conditions.
"""

from threads.sending.append import Appended, NothingToDo, Plan, append
from threads.sending.batch import BatchEntry, append_batch
from threads.sending.new_message import Binding, NewMessage, RosterChange, content_hash
from threads.sending.repeats import find_stored_message

__all__ = [
    "Appended",
    "Binding",
    "NewMessage",
    "NothingToDo",
    "Plan",
    "RosterChange",
    "BatchEntry",
    "append",
    "append_batch",
    "find_stored_message",
    "content_hash",
]
