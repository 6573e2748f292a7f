"""Generates docs/cards.md from the card types. A test compares the file with the output."""

from contracts.cards.card_type import AWAITED, DEADLINE, EITHER, SYSTEM, CardType, Transition
from contracts.cards.types import TYPES
from contracts.models.bookings import LEG_STATES
from contracts.status import ALLOWED

INTRO = """# Action cards

A card is a proposal inside a thread: one party proposes, the other answers, and the booking
changes. This page is generated from `contracts/cards/types/` by
`script/manage draw_cards > docs/cards.md`; a test compares the two.

Every step of every type is processed in the same way (`contracts/cards/proposals.py` and
`transitions.py`, then `projects/cards/outbox.py`):

1. One SQL transaction, which locks the seller, the open offers of the thread (for an offer), the
   booking and the open cards of the thread in that order. It checks role, state and version, and
   stores the changes to the booking, the card, an immutable `CardStep`, the next revision of the
   thread's records and an outbox entry. Each user's key is processed once; a repeat gets the same
   result.
2. One DynamoDB transaction, built from the current SQL records: the system message, the card's
   message, the shadow with its history, and the pending actions (`ACTION#`, `waitingFor`). Its
   condition is that nothing newer is stored.
3. The tabs, and then the events `message.sent`, `card.changed`, `panel.changed` and
   `inbox.changed`. After a crash at any point, the relay continues.

Amounts are parsed by `contracts/amounts.py`: at most 15 characters, no exponents, with at most the
decimal places of the booking's currency, in the locale of the `Accept-Language` header. Ambiguous
amounts ("1,200" in German, or without a locale) are refused with both readings. Types with
`needs_review` (extras, overtime, expense) are shown to their author with the parsed amounts before
they are sent; the form is then sent again with the hash of exactly what was shown
(`contracts/cards/review.py`). Offers are reviewed in the same way. Whole numbers are limited to 9
digits and dates to 32 characters before they are parsed.

An offer has a record of its own, `Offer`, to which bookings refer. Its terms are immutable, and its
status is the state of its card: only `contracts/cards/transitions.py` changes it, in the
transaction of the transition and on the condition that it is pending (`check_stores` compares the
two). Only an offer of new bookings has no booking. `counter` closes the offer and opens the next
card of the negotiation, which lists the earlier ones and shows each changed term with its earlier
value; `supersede` closes the other offers for the same work when one is accepted. Both have no
system message, because the cards show it. A day before an offer expires, both parties get a system
message (`contracts/cards/warnings.py`).

Buttons have the same order on every card, independent of the store's: decline or withdraw,
then transitions with a form, then the main one (`projects/cards/rendering.py`). On phones the
main button is shown first.

To add a type, add a module to `contracts/cards/types/` and list it in `__init__.py`, add a row for
each transition to `contracts/status.py`, add the templates `projects/cards/<type>.html` (the card)
and `projects/cards/<type>_form.html` (its form), and generate this page again.

Refusals: `THREAD_NOT_FOUND` for users who are not a party, `ACTION_FORBIDDEN` for the wrong role,
`ACTION_INVALID_STATE` for the wrong state or version, with what happened, `CARD_EXPIRED` after the
deadline, `CARD_INVALID` for invalid input, by field, and `ACTION_CONFLICT` if the seller is not
available at that time.
"""


# Transitions that no user applies.
WHEN = {DEADLINE: "at the deadline", SYSTEM: "as a consequence"}


STATUSES = """## Actions by booking status

From `contracts/status.py`. Every action checks the status in its own transaction, with the booking
locked. An action that is not allowed is refused with `ACTION_INVALID_STATE`, and cards do not show
it. The transitions `end` and `supersede` are not listed, because they follow from another one. A
completed booking is one whose work was accepted: its balance is due, and the seller records
payments.
"""


def page() -> str:
    return "\n".join([INTRO, *(_section(kind) for kind in TYPES.values()), _statuses()])


def _statuses() -> str:
    head = ["| action | " + " | ".join(_humanize(status) for status in LEG_STATES) + " |"]
    head.append("| --- |" + " --- |" * len(LEG_STATES))
    rows = [
        f"| `{action}` | " + " | ".join("yes" if s in allowed else "" for s in LEG_STATES) + " |"
        for action, allowed in ALLOWED.items()
    ]
    return "\n".join([STATUSES, *head, *rows, ""])


def _humanize(name: str) -> str:
    return name.replace("_", " ")


def _section(kind: CardType) -> str:
    waits = "; ".join(
        f"`{state}` waits for {_describe_role(role)}" for state, role in kind.waits.items()
    )
    return "\n".join(
        [
            f"## {kind.name}",
            "",
            f"{kind.label}. Proposed by {_describe_role(kind.by)}. {waits[:1].upper()}{waits[1:]}.",
            "",
            "```mermaid",
            "stateDiagram-v2",
            f"  [*] --> {kind.first}: {kind.by} proposes",
            *(f"  {line}" for transition in kind.transitions for line in _arrows(transition)),
            *(f"  {state} --> [*]" for state in kind.states if _can_end(kind, state)),
            "```",
            "",
            "| transition | by | from | to | text |",
            "| --- | --- | --- | --- | --- |",
            *(_row(transition) for transition in kind.transitions),
            "",
        ]
    )


def _can_end(kind: CardType, state: str) -> bool:
    closing = (transition.to for transition in kind.transitions if transition.closes)
    return not kind.is_open(state) or state in closing


def _describe_role(role: str) -> str:
    if role == AWAITED:
        return "those who have not acted yet"
    return "either party" if role == EITHER else f"the {role}"


def _arrows(transition: Transition) -> list[str]:
    label = f"{transition.name} ({WHEN.get(transition.by, transition.by)})"
    return [f"{source} --> {transition.to}: {label}" for source in transition.sources]


def _row(transition: Transition) -> str:
    sources = ", ".join(f"`{source}`" for source in transition.sources)
    cells = [f"`{transition.name}`", transition.by, sources, f"`{transition.to}`", transition.text]
    return f"| {' | '.join(cells)} |"
