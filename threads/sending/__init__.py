"""Appending a line to a thread: the one transaction that sends, with its races and retries.

docs/data-model.md, "Sending", says what is written and on which conditions.
"""

from threads.sending.append import Appended, NothingToDo, Plan, append, find_stored_message
from threads.sending.batch import BatchEntry, append_batch
from threads.sending.new_message import Binding, NewMessage, RosterChange, content_hash

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
