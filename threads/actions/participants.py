"""Adding and removing participants, and leaving. Each change appends a system message."""

from accounts.models import User
from core.rate_limits import check_rate_limit
from core.refusals import Refusal
from realtime.broadcast.delivery import publish
from threads.actions.consent import read_consent
from threads.actions.start import new_participant
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.table import Item, query
from threads.events import full_inbox_changed, publish_message, publish_roster
from threads.models import Draft, FormerParticipant, Invitation, Pair, Participant, PendingAction
from threads.models.message import SYSTEM
from threads.models.participant import ADMIN, BUYER, REQUEST_RECEIVED, REQUESTS, SELLER
from threads.models.profiles import build_other_side, build_person
from threads.models.thread import MAX_PARTICIPANTS
from threads.permissions import (
    check_can_add,
    check_can_remove,
    check_not_held,
    check_thread_open,
)
from threads.sending import Appended, NewMessage, NothingToDo, Plan, RosterChange, append

INVITED, ADDED = "invited", "added"


def add_participant(actor: User, *, thread_id: str, user: User) -> str:
    """Returns ADDED or INVITED. A user who shares no accepted thread with `actor`, or has left this
    one, is invited and joins on accepting. They see messages from when they join."""
    outcome = ADDED

    def plan(cached: CachedThread) -> tuple[NewMessage, RosterChange]:
        nonlocal outcome
        check_can_add(cached, actor.id)
        _check_is_new(cached, user)
        consent = read_consent(actor, user, thread_id)
        consent.check(cached)
        expired = [one for one in cached.invited.values() if one.is_request_expired]
        roster = RosterChange(uninviting=expired)
        outcome = ADDED if consent.is_given else INVITED
        if consent.is_given:
            side, former = _side_of(cached, actor), consent.former
            roster.joining = [
                joining_participant(cached, user, role=side, other=actor, former=former)
            ]
            roster = with_pair_blocks(cached, roster)
        else:
            roster.inviting = [_invitation(cached, user, actor)]
        text = f"{actor.display_name} {outcome} {user.display_name}."
        message = new_system_message(cached, f"add:{user.id}", text, by=actor)
        message.named = {actor.id: actor.display_name, user.id: user.display_name}
        message.extra_writes = consent.write
        return message, roster

    check_rate_limit("people", actor.id)
    appended = change_roster(thread_id, plan)
    if appended is not None and outcome == INVITED:
        _publish_invitation(appended, user)
    return outcome


def _check_is_new(cached: CachedThread, user: User) -> None:
    invitation = cached.invited.get(user.id)
    is_invited = invitation is not None and not invitation.is_request_expired
    # A declined invitation looks like an open one, so it cannot be renewed before it expires.
    if user.id in cached.people or is_invited:
        raise NothingToDo
    pending = [one for one in cached.invited.values() if not one.is_request_expired]
    if len(cached.people) + len(pending) >= MAX_PARTICIPANTS:
        raise Refusal(
            "ACTION_FORBIDDEN", f"A conversation can have at most {MAX_PARTICIPANTS} people."
        )


def _publish_invitation(appended: Appended, user: User) -> None:
    """Publishes the row in the requests folder, and nothing of the thread."""
    if appended.is_new and user.id in appended.cached.invited:
        publish(full_inbox_changed(appended.cached.invited[user.id]), to=[user.id])


def remove_participant(actor: User, *, thread_id: str, user_id: str) -> None:
    def plan(cached: CachedThread) -> tuple[NewMessage, RosterChange]:
        check_can_add(cached, actor.id)
        person = cached.people.get(user_id)
        if person is None:
            raise NothingToDo
        check_can_remove(cached, actor.id, person)
        text = f"{actor.display_name} removed {person.person['name']}."
        message = new_system_message(cached, f"remove:{user_id}", text, by=actor)
        message.named = {actor.id: actor.display_name, user_id: person.person["name"]}
        return message, with_pair_blocks(cached, _departure(person, is_by_choice=False))

    check_rate_limit("people", actor.id)
    change_roster(thread_id, plan)


def leave_thread(actor: User, *, thread_id: str) -> None:
    def plan(cached: CachedThread) -> tuple[NewMessage, RosterChange]:
        person = cached.people.get(actor.id)
        if person is None:
            raise Refusal("THREAD_NOT_FOUND")
        check_thread_open(cached)
        check_not_held(person)
        message = new_system_message(cached, f"leave:{actor.id}", f"{actor.display_name} left.")
        message.named = {actor.id: actor.display_name}
        return message, with_pair_blocks(cached, _departure(person, is_by_choice=True))

    change_roster(thread_id, plan)


def change_roster(thread_id: str, plan: Plan) -> Appended | None:
    try:
        appended = append(thread_id, plan)
    except NothingToDo:
        return None
    publish_message(appended)
    publish_roster(appended.cached, appended.removed)
    return appended


def new_system_message(
    cached: CachedThread, about: str, text: str, *, by: User | None = None
) -> NewMessage:
    # The roster version makes adding the same user again later another message.
    actor_id = by.id if by else None
    key = ":".join(filter(None, [about, actor_id, str(cached.thread.roster_version)]))
    return NewMessage(client_id=key, body=text, preview=text, actor_id=actor_id, type=SYSTEM)


def joining_participant(
    cached: CachedThread,
    user: User,
    *,
    role: str,
    other: User,
    former: FormerParticipant | None = None,
) -> Participant:
    thread = cached.thread
    person = new_participant(thread, user, role=role, other=other)
    # Both cursors are before the system message about joining, which is the first they can see.
    seq = thread.last_seq
    person.last_read_seq = person.delivered_seq = seq
    person.last_read_tally = thread.last_tally
    person.last_read_message_id = thread.last_message_id
    person.visible_from_seq = seq + 1
    # A hold outlasts leaving and joining again.
    person.sending_hold = former.sending_hold if former else None
    return person


def _side_of(cached: CachedThread, actor: User) -> str:
    return SELLER if actor.id == cached.thread.seller_id else BUYER


def _invitation(cached: CachedThread, user: User, actor: User) -> Invitation:
    """A row in the requests folder with the inviter and the subject, and without message text.
    Its cursors are those of a user who has read everything."""
    thread = cached.thread
    text = "Invited you to this conversation."
    return Invitation(
        thread.pk,
        keys.invitation_sk(user.id),
        role=_side_of(cached, actor),
        person=build_person(user),
        folder=REQUESTS,
        request_state=REQUEST_RECEIVED,
        subject=thread.subject,
        kind=thread.kind,
        other_side=build_other_side(actor),
        others_count=len(cached.people),
        last_read_tally=thread.last_tally,
        last_message={"author": actor.id, "type": SYSTEM, "text": text},
        inbox_pk=keys.inbox_pk(user.id, REQUESTS),
    )


def _departure(person: Participant, *, is_by_choice: bool) -> RosterChange:
    """Leaving deletes the draft and the pending actions of the user in this thread."""
    pk = keys.user_pk(person.user_id)
    draft = Draft(pk, keys.draft_sk(person.thread_id))
    prefix = keys.pending_action_sk(person.thread_id, "")
    pending = query(pk, Item.sk.startswith(prefix), limit=40).of(PendingAction)
    return RosterChange(leaving=[person], owned_items=[draft, *pending], is_by_choice=is_by_choice)


def with_pair_blocks(cached: CachedThread, roster: RosterChange) -> RosterChange:
    """Applies the blocks of the two users who remain once a group of three becomes a pair."""
    people = [*cached.people.values(), *roster.joining]
    sides = [p.user_id for p in people if p.role != ADMIN and p.user_id not in roster.leaving_ids]
    if len(sides) == 2:
        pair_pk = keys.pair_pk(*sides)
        roster.pair = Pair.find(pair_pk, keys.STATE) or Pair(pair_pk, keys.STATE)
        roster.blockers = roster.pair.blocked_by or set()
    if len(sides) < 2:
        roster.blockers = set()
    return roster
