"""Appending a line to a thread: the one transaction that sends, with its races and retries.

docs/data-model.md, "Sending", says what is written and on which conditions.
"""

from threads.sending.append import Appended, NothingToDo, Plan, append, find_stored
from threads.sending.batch import Waiting, append_together
from threads.sending.new_message import Binding, Line, Roster, seal

__all__ = [
    "Appended",
    "Binding",
    "Line",
    "NothingToDo",
    "Plan",
    "Roster",
    "Waiting",
    "append",
    "append_together",
    "find_stored",
    "seal",
]
