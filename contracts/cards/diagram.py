"""The tables of all cards as a page for people: docs/cards.md. A test compares the two."""

from contracts.cards.card_type import DEADLINE, SYSTEM, CardType, Transition
from contracts.cards.types import TYPES
from contracts.models.bookings import LEG_STATES
from contracts.status import ALLOWED

INTRO = """# Action cards

A card is an agreement in the making, inside the conversation: somebody proposes, somebody
answers, the booking changes. This page is made from the tables in `contracts/cards/types/` by
`script/manage draw_cards > docs/cards.md`; a test compares it with them.

How a step comes to be, whatever the type (`contracts/cards/proposals.py` and `moves.py`, then
`projects/cards/outbox.py`):

1. One SQL transaction, with the seller, the booking and the card locked in that order: who may,
   from which state, at which version; what it changes of the booking; the card; the step that is
   kept of it (`CardStep`, which the database lets nobody change); the dossier's next revision
   and an outbox entry. A step is made once for each key of its maker; a repeat gets the same
   answer.
2. One transaction of the table, made from what the records say at that moment: the line that
   tells of it, the message with the card as it is now, the shadow with its history, for whom it
   waits (`ACTION#`, `waitingFor`). On the condition that the table has nothing newer.
3. The tabs, then everybody is told: `message.sent`, `card.changed`, `panel.changed`,
   `inbox.changed`. If the process dies anywhere in between, the relay goes on.

Amounts are typed as text and read by one parser, `contracts/amounts.py`: at most 15 characters,
no exponents, according to the locale that the browser states in `Accept-Language`. What can be
read in two ways ("1,200" in German, or without a locale) is refused with both readings. A type
with `needs_review` (extras, overtime, expense) is shown to its author as it will look, with the
amounts that were read, before it is sent; the form is sent again with the seal of exactly what was
shown (`contracts/cards/review.py`). Offers are reviewed in the same way. Whole numbers have at
most 9 digits and dates at most 32 characters before they are parsed.

A new type is a file in `contracts/cards/types/`, named in its `__init__.py`, with a row for each of
its moves in `contracts/status.py`, the templates
`projects/cards/<type>.html` (what it shows) and `projects/cards/<type>_form.html` (what one fills
in), and this page made again.

Refused is: whoever is not a party (`THREAD_NOT_FOUND`), the wrong one of the two
(`ACTION_FORBIDDEN`), the wrong state or version (`ACTION_INVALID_STATE`, with what has
happened), what came too late (`CARD_EXPIRED`), a payload that is not one (`CARD_INVALID`, part
by part), a time at which the seller is busy (`ACTION_CONFLICT`).
"""


# Nobody makes these.
WHEN = {DEADLINE: "when it is due", SYSTEM: "when the booking is over"}


STATUSES = """## What each status of a booking allows

From `contracts/status.py`. Every action checks it in its own transaction, with the booking locked;
what is not allowed is refused with `ACTION_INVALID_STATE`, and a card does not offer it. What
follows from the end of a booking (`end`) is no action. Completed is a booking whose work was
accepted: its balance is due, and whether it was paid is for the seller to record.
"""


def page() -> str:
    return "\n".join([INTRO, *(_section(kind) for kind in TYPES.values()), _statuses()])


def _statuses() -> str:
    head = ["| action | " + " | ".join(_spaced(status) for status in LEG_STATES) + " |"]
    head.append("| --- |" + " --- |" * len(LEG_STATES))
    rows = [
        f"| `{action}` | " + " | ".join("yes" if s in allowed else "" for s in LEG_STATES) + " |"
        for action, allowed in ALLOWED.items()
    ]
    return "\n".join([STATUSES, *head, *rows, ""])


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def _section(kind: CardType) -> str:
    waits = "; ".join(f"`{state}` waits for the {role}" for state, role in kind.waits.items())
    return "\n".join(
        [
            f"## {kind.name}",
            "",
            f"{kind.label}. Proposed by {_spelled(kind.by)}. {waits[:1].upper()}{waits[1:]}.",
            "",
            "```mermaid",
            "stateDiagram-v2",
            f"  [*] --> {kind.first}: {kind.by} proposes",
            *(f"  {line}" for move in kind.moves for line in _arrows(move)),
            *(f"  {state} --> [*]" for state in kind.states if _may_end(kind, state)),
            "```",
            "",
            "| move | by | from | to | says |",
            "| --- | --- | --- | --- | --- |",
            *(_row(move) for move in kind.moves),
            "",
        ]
    )


def _may_end(kind: CardType, state: str) -> bool:
    return not kind.is_open(state) or any(move.ends and move.to == state for move in kind.moves)


def _spelled(role: str) -> str:
    return "either side" if role == "either" else f"the {role}"


def _arrows(move: Transition) -> list[str]:
    mark = WHEN.get(move.by, move.by)
    return [f"{source} --> {move.to}: {move.name} ({mark})" for source in move.sources]


def _row(move: Transition) -> str:
    sources = ", ".join(f"`{source}`" for source in move.sources)
    return f"| `{move.name}` | {move.by} | {sources} | `{move.to}` | {move.says} |"
