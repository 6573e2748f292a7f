"""Action cards: agreements in the making. One engine, one table for each type.

A type says in which states a card of it can be, who may move it from one to another, and what that
changes (`table`, `types/`). The rules are the same for all of them (`proposing`, `moving`), the
clock moves what is due (`clock`). To all of it a thread is a name; projects/cards/ shows it in the
conversation.
"""
