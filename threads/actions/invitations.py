"""Answering an invitation: accepting joins the conversation, declining tells nobody anything."""

from accounts.blocks import list_blocks_between
from accounts.models import User
from accounts.queries import find_user
from core.refusals import Refusal
from realtime.broadcast.delivery import publish
from threads import cache
from threads.actions.consent import (
    check_blocks_unchanged,
    find_of_type,
    former_key,
    side_ids,
    version_key,
)
from threads.actions.folders import placement_change
from threads.actions.messages import check_thread_open
from threads.actions.participants import (
    change_roster,
    joining_participant,
    new_system_message,
    with_pair_blocks,
)
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.retry import Backoff
from threads.dynamodb.table import get_many
from threads.dynamodb.transactions import update
from threads.events import full_inbox_changed
from threads.models import BlockVersion, FormerParticipant, Invitation, Pair
from threads.models.participant import ARCHIVED_FOLDER, REQUEST_DECLINED, SPAM
from threads.sending import NewMessage, NothingToDo, RosterChange


def accept_invitation(user: User, *, thread_id: str) -> None:
    """They see the conversation from here on, and need not be asked by who invited them again."""

    def plan(cached: CachedThread) -> tuple[NewMessage, RosterChange]:
        if user.id in cached.people:
            raise NothingToDo
        invitation = cached.invited.get(user.id)
        if invitation is None:
            raise Refusal("THREAD_NOT_FOUND")
        check_thread_open(cached)
        inviter = _check_is_valid(cached, invitation)
        # The version before the blocks themselves.
        found = get_many([version_key(user.id), former_key(thread_id, user.id)])
        version, former = find_of_type(BlockVersion, found), find_of_type(FormerParticipant, found)
        _check_blocks(cached, user)
        role = invitation.role
        joining = joining_participant(cached, user, role=role, other=inviter, former=former)
        pair = Pair(keys.pair_pk(user.id, inviter.id), keys.STATE)
        roster = RosterChange(joining=[joining], uninviting=[invitation], accepts=pair)
        line = new_system_message(cached, f"join:{user.id}", f"{user.display_name} joined.")
        line.named = {user.id: user.display_name}
        line.extra_writes = lambda write, _: check_blocks_unchanged(write, user.id, version)
        return line, with_pair_blocks(cached, roster)

    change_roster(thread_id, plan)


def decline_invitation(user: User, *, thread_id: str, as_spam: bool = False) -> None:
    """For the others nothing changes: they see an invitation until it expires."""
    backoff = Backoff()
    folder = SPAM if as_spam else ARCHIVED_FOLDER
    while True:
        invitation = Invitation.find(keys.thread_pk(thread_id), keys.invitation_sk(user.id))
        if invitation is None:
            return
        change = placement_change(invitation, {"folder": folder, "request_state": REQUEST_DECLINED})
        as_read = (Invitation.last_seq == invitation.last_seq) & Invitation.pk.exists()
        if update(invitation, change, as_read):
            publish(full_inbox_changed(invitation), to=[user.id])
            cache.invalidate(thread_id)
            return
        backoff.wait()


def _check_is_valid(cached: CachedThread, invitation: Invitation) -> User:
    inviter = find_user(invitation.inviter_id)
    if invitation.is_request_expired or inviter is None or inviter.id not in cached.people:
        raise Refusal(
            "ACTION_FORBIDDEN",
            "This invitation has expired.",
            hint="Somebody in the conversation can invite you again.",
        )
    return inviter


def _check_blocks(cached: CachedThread, user: User) -> None:
    blocks = list_blocks_between(user.id, side_ids(cached))
    mine = [blocked for blocker, blocked in blocks if blocker == user.id]
    if mine:
        name = cached.get_person(mine[0])["name"]
        raise Refusal(
            "ACTION_FORBIDDEN",
            f"You have blocked {name}, who is in this conversation.",
            hint=f"Unblock {name} to join.",
        )
    if blocks:
        raise Refusal("ACTION_FORBIDDEN", "You can't join this conversation.")
