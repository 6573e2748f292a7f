"""The registry of card types. A new type is a module here plus its templates."""

from contracts.cards.card_type import CardType
from contracts.cards.types import (
    cancel,
    complete,
    dispute,
    expense,
    extras,
    offer,
    overtime,
    proofs,
    reschedule,
    safety,
    sign,
)

TYPES: dict[str, CardType] = {
    module.TYPE.name: module.TYPE
    for module in (
        offer,
        reschedule,
        extras,
        overtime,
        proofs,
        expense,
        sign,
        complete,
        cancel,
        dispute,
        safety,
    )
}
