"""Appending a line to a thread: the one transaction that sends, with its races and retries.

docs/data-model.md, "Sending", says what is written and on which conditions.
"""

from threads.writing.append import Appended, NothingToDo, Plan, append, find_stored
from threads.writing.group import Waiting, append_together
from threads.writing.line import Binding, Line, Roster, seal

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
