"""The items of the table. docs/data-model.md lists each with its keys."""

from threads.models.archive import (
    ArchiveDue,
    ArchiveLocation,
    ArchiveStart,
    Pack,
    PackCheck,
    PackedThread,
)
from threads.models.card import CardShadow, PendingAction
from threads.models.connection import Connection, UserConnection
from threads.models.message import Message, SentMarker
from threads.models.pair import Pair, PairThread
from threads.models.participant import (
    FormerParticipant,
    Invitation,
    LeftThread,
    Participant,
    Person,
)
from threads.models.person import BlockVersion, Draft, Profile, RateBucket, StartMarker
from threads.models.tab import TabEdit, TabSnapshot
from threads.models.thread import Thread

__all__ = [
    "PendingAction",
    "ArchiveDue",
    "ArchiveLocation",
    "ArchiveStart",
    "BlockVersion",
    "CardShadow",
    "Connection",
    "Draft",
    "FormerParticipant",
    "Invitation",
    "LeftThread",
    "Message",
    "Pack",
    "PackCheck",
    "PackedThread",
    "Pair",
    "PairThread",
    "Participant",
    "Person",
    "Profile",
    "RateBucket",
    "SentMarker",
    "StartMarker",
    "TabEdit",
    "TabSnapshot",
    "Thread",
    "UserConnection",
]
