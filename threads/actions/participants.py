"""Who is in a thread: adding, removing, leaving. Each is a line of its own in the conversation."""

from accounts.models import User
from core.rate_limits import check_rate_limit
from core.refusals import Refusal
from realtime.broadcast.delivery import publish
from threads.actions.consent import read_consent
from threads.actions.messages import check_not_held, check_thread_open
from threads.actions.participant_permissions import check_can_add, check_can_remove
from threads.actions.start import new_participant
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.table import Item, query
from threads.events import full_inbox_changed, publish_message, publish_roster
from threads.models import Draft, FormerParticipant, Invitation, Pair, Participant, PendingAction
from threads.models.message import SYSTEM
from threads.models.participant import ADMIN, BUYER, REQUEST_RECEIVED, REQUESTS, SELLER
from threads.models.profiles import build_person
from threads.models.thread import MAX_PARTICIPANTS
from threads.sending import Appended, NewMessage, NothingToDo, Plan, RosterChange, append

INVITED, ADDED = "invited", "added"


def add_participant(actor: User, *, thread_id: str, user: User) -> str:
    """Whether they were added or only invited. Somebody who shares no accepted thread with `actor`,
    or has left this one, comes only when they accept; they see the conversation from then on."""
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
        line = new_system_message(cached, f"add:{user.id}", text, by=actor)
        line.named = {actor.id: actor.display_name, user.id: user.display_name}
        line.extra_writes = consent.write
        return line, roster

    check_rate_limit("people", actor.id)
    appended = change_roster(thread_id, plan)
    if appended is not None and outcome == INVITED:
        _tell_invited(appended, user)
    return outcome


def _check_is_new(cached: CachedThread, user: User) -> None:
    invitation = cached.invited.get(user.id)
    is_invited = invitation is not None and not invitation.is_request_expired
    # An invitation that was declined looks like one that waits, and is not renewed before it ends.
    if user.id in cached.people or is_invited:
        raise NothingToDo
    waiting = [one for one in cached.invited.values() if not one.is_request_expired]
    if len(cached.people) + len(waiting) >= MAX_PARTICIPANTS:
        raise Refusal(
            "ACTION_FORBIDDEN", f"A conversation can have at most {MAX_PARTICIPANTS} people."
        )


def _tell_invited(appended: Appended, user: User) -> None:
    """Their row of requests alone: nothing of the conversation."""
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
        line = new_system_message(cached, f"remove:{user_id}", text, by=actor)
        line.named = {actor.id: actor.display_name, user_id: person.person["name"]}
        return line, with_pair_blocks(cached, _departure(person, is_by_choice=False))

    check_rate_limit("people", actor.id)
    change_roster(thread_id, plan)


def leave_thread(actor: User, *, thread_id: str) -> None:
    def plan(cached: CachedThread) -> tuple[NewMessage, RosterChange]:
        person = cached.people.get(actor.id)
        if person is None:
            raise Refusal("THREAD_NOT_FOUND")
        check_thread_open(cached)
        check_not_held(person)
        line = new_system_message(cached, f"leave:{actor.id}", f"{actor.display_name} left.")
        line.named = {actor.id: actor.display_name}
        return line, with_pair_blocks(cached, _departure(person, is_by_choice=True))

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
    # With the roster's version, so that adding the same person again later is another line.
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
    # Both cursors stand before the line that says they came, which is the first that they see.
    seq = thread.last_seq
    person.last_read_seq = person.delivered_seq = seq
    person.last_read_tally = thread.last_tally
    person.last_read_message_id = thread.last_message_id
    person.visible_from_seq = seq + 1
    # What held them when they went holds them again.
    person.sending_hold = former.sending_hold if former else None
    return person


def _side_of(cached: CachedThread, actor: User) -> str:
    return SELLER if actor.id == cached.thread.seller_id else BUYER


def _invitation(cached: CachedThread, user: User, actor: User) -> Invitation:
    """A row among their requests, which says who invited them and to what; no word of what was
    said. The cursors are those of somebody who has read everything."""
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
        other_side=build_person(actor),
        others_count=len(cached.people),
        last_read_tally=thread.last_tally,
        last_message={"author": actor.id, "type": SYSTEM, "text": text},
        inbox_pk=keys.inbox_pk(user.id, REQUESTS),
    )


def _departure(person: Participant, *, is_by_choice: bool) -> RosterChange:
    """Somebody who goes keeps neither a draft nor a card that waits for them here."""
    pk = keys.user_pk(person.user_id)
    draft = Draft(pk, keys.draft_sk(person.thread_id))
    prefix = keys.pending_action_sk(person.thread_id, "")
    waiting = query(pk, Item.sk.startswith(prefix), limit=40).of(PendingAction)
    return RosterChange(leaving=[person], owned_items=[draft, *waiting], is_by_choice=is_by_choice)


def with_pair_blocks(cached: CachedThread, roster: RosterChange) -> RosterChange:
    """Of three, two who did not begin it may be left: what holds between them has to hold here."""
    people = [*cached.people.values(), *roster.joining]
    sides = [p.user_id for p in people if p.role != ADMIN and p.user_id not in roster.leaving_ids]
    if len(sides) == 2:
        pair_pk = keys.pair_pk(*sides)
        roster.pair = Pair.find(pair_pk, keys.STATE) or Pair(pair_pk, keys.STATE)
        roster.blockers = roster.pair.blocked_by or set()
    if len(sides) < 2:
        roster.blockers = set()
    return roster
