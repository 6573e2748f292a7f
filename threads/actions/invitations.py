"""Answering an invitation: accepting joins the conversation, declining tells nobody anything."""

from accounts.blocks import blocks_between
from accounts.models import User
from accounts.queries import find_user
from core.refusals import Refusal
from realtime.broadcast.delivery import deliver
from threads import cache as states
from threads.actions.consent import check_same_blocks, former_key, pick, side_ids, version_key
from threads.actions.folders import placing
from threads.actions.messages import check_is_open
from threads.actions.participants import change_roster, newcomer, system_line, with_pair
from threads.cache import ThreadState
from threads.dynamodb import keys
from threads.dynamodb.retry import Backoff
from threads.dynamodb.table import get_many
from threads.dynamodb.transactions import update
from threads.events import inbox_settings
from threads.models import BlockVersion, FormerParticipant, Invitation, Pair
from threads.models.participant import ARCHIVED_FOLDER, DECLINED, SPAM
from threads.sending import Line, NothingToDo, Roster


def accept_invitation(user: User, *, thread_id: str) -> None:
    """They see the conversation from here on, and need not be asked by who invited them again."""

    def plan(state: ThreadState) -> tuple[Line, Roster]:
        if user.id in state.people:
            raise NothingToDo
        invitation = state.invited.get(user.id)
        if invitation is None:
            raise Refusal("THREAD_NOT_FOUND")
        check_is_open(state)
        inviter = _check_is_valid(state, invitation)
        # The version before the blocks themselves.
        found = get_many([version_key(user.id), former_key(thread_id, user.id)])
        version, former = pick(BlockVersion, found), pick(FormerParticipant, found)
        _check_blocks(state, user)
        role = invitation.role
        joining = newcomer(state, user, role=role, other=inviter, former=former)
        pair = Pair(keys.pair_pk(user.id, inviter.id), keys.STATE)
        roster = Roster(joining=[joining], uninviting=[invitation], accepts=pair)
        line = system_line(state, f"join:{user.id}", f"{user.display_name} joined.")
        line.named = {user.id: user.display_name}
        line.also = lambda write, _: check_same_blocks(write, user.id, version)
        return line, with_pair(state, roster)

    change_roster(thread_id, plan)


def decline_invitation(user: User, *, thread_id: str, as_spam: bool = False) -> None:
    """For the others nothing changes: they see an invitation until it expires."""
    backoff = Backoff()
    folder = SPAM if as_spam else ARCHIVED_FOLDER
    while True:
        invitation = Invitation.find(keys.thread_pk(thread_id), keys.invitation_sk(user.id))
        if invitation is None:
            return
        change = placing(invitation, {"folder": folder, "request_state": DECLINED})
        as_read = (Invitation.last_seq == invitation.last_seq) & Invitation.pk.exists()
        if update(invitation, change, as_read):
            deliver(inbox_settings(invitation), to=[user.id])
            states.forget(thread_id)
            return
        backoff.wait()


def _check_is_valid(state: ThreadState, invitation: Invitation) -> User:
    inviter = find_user(invitation.inviter_id)
    if invitation.is_request_over or inviter is None or inviter.id not in state.people:
        raise Refusal(
            "ACTION_FORBIDDEN",
            "This invitation has expired.",
            hint="Somebody in the conversation can invite you again.",
        )
    return inviter


def _check_blocks(state: ThreadState, user: User) -> None:
    blocks = blocks_between(user.id, side_ids(state))
    mine = [blocked for blocker, blocked in blocks if blocker == user.id]
    if mine:
        name = state.name_of(mine[0])["name"]
        raise Refusal(
            "ACTION_FORBIDDEN",
            f"You have blocked {name}, who is in this conversation.",
            hint=f"Unblock {name} to join.",
        )
    if blocks:
        raise Refusal("ACTION_FORBIDDEN", "You can't join this conversation.")
