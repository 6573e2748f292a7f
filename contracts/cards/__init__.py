"""Action cards: proposals about a booking that another user answers.

A card type declares its states, its transitions, who may apply them and what they change
(`card_type`, `types/`). All types share the rules in `proposals` and `transitions`; `deadlines`
applies the transitions that are due. A thread is only an id here; projects/cards/ shows its cards.
"""
