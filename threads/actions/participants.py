"""Who is in a thread: adding, removing, leaving. Each is a line of its own in the conversation."""

from accounts.models import User
from core.rate_limits import check_rate_limit
from core.refusals import Refusal
from realtime.broadcast.delivery import deliver
from threads.actions.consent import read_consent
from threads.actions.messages import check_is_open, check_not_held
from threads.actions.participant_permissions import check_can_add, check_can_remove
from threads.actions.start import new_participant
from threads.cache import ThreadState
from threads.dynamodb import keys
from threads.dynamodb.table import Item, query
from threads.events import inbox_settings, publish_appended, publish_roster
from threads.models import ActionWaiting, Draft, FormerParticipant, Invitation, Pair, Participant
from threads.models.message import SYSTEM
from threads.models.participant import ADMIN, BUYER, PENDING, REQUESTS, SELLER
from threads.models.profiles import person_of
from threads.models.thread import MAX_PARTICIPANTS
from threads.sending import Appended, Line, NothingToDo, Plan, Roster, append

INVITED, ADDED = "invited", "added"


def add_participant(actor: User, *, thread_id: str, user: User) -> str:
    """Whether they were added or only invited. Somebody who shares no accepted thread with `actor`,
    or has left this one, comes only when they accept; they see the conversation from then on."""
    outcome = ADDED

    def plan(state: ThreadState) -> tuple[Line, Roster]:
        nonlocal outcome
        check_can_add(state, actor.id)
        _check_is_new(state, user)
        consent = read_consent(actor, user, thread_id)
        consent.check(state)
        expired = [one for one in state.invited.values() if one.is_request_over]
        roster = Roster(uninviting=expired)
        outcome = ADDED if consent.is_given else INVITED
        if consent.is_given:
            side, former = _side_of(state, actor), consent.former
            roster.joining = [newcomer(state, user, role=side, other=actor, former=former)]
            roster = with_pair(state, roster)
        else:
            roster.inviting = [_invitation(state, user, actor)]
        text = f"{actor.display_name} {outcome} {user.display_name}."
        line = system_line(state, f"add:{user.id}", text, by=actor)
        line.named = {actor.id: actor.display_name, user.id: user.display_name}
        line.also = consent.write
        return line, roster

    check_rate_limit("people", actor.id)
    appended = change_roster(thread_id, plan)
    if appended is not None and outcome == INVITED:
        _tell_invited(appended, user)
    return outcome


def _check_is_new(state: ThreadState, user: User) -> None:
    invitation = state.invited.get(user.id)
    is_invited = invitation is not None and not invitation.is_request_over
    # An invitation that was declined looks like one that waits, and is not renewed before it ends.
    if user.id in state.people or is_invited:
        raise NothingToDo
    waiting = [one for one in state.invited.values() if not one.is_request_over]
    if len(state.people) + len(waiting) >= MAX_PARTICIPANTS:
        raise Refusal(
            "ACTION_FORBIDDEN", f"A conversation can have at most {MAX_PARTICIPANTS} people."
        )


def _tell_invited(appended: Appended, user: User) -> None:
    """Their row of requests alone: nothing of the conversation."""
    if appended.is_new and user.id in appended.state.invited:
        deliver(inbox_settings(appended.state.invited[user.id]), to=[user.id])


def remove_participant(actor: User, *, thread_id: str, user_id: str) -> None:
    def plan(state: ThreadState) -> tuple[Line, Roster]:
        check_can_add(state, actor.id)
        person = state.people.get(user_id)
        if person is None:
            raise NothingToDo
        check_can_remove(state, actor.id, person)
        text = f"{actor.display_name} removed {person.person['name']}."
        line = system_line(state, f"remove:{user_id}", text, by=actor)
        line.named = {actor.id: actor.display_name, user_id: person.person["name"]}
        return line, with_pair(state, _departure(person, is_by_choice=False))

    check_rate_limit("people", actor.id)
    change_roster(thread_id, plan)


def leave_thread(actor: User, *, thread_id: str) -> None:
    def plan(state: ThreadState) -> tuple[Line, Roster]:
        person = state.people.get(actor.id)
        if person is None:
            raise Refusal("THREAD_NOT_FOUND")
        check_is_open(state)
        check_not_held(person)
        line = system_line(state, f"leave:{actor.id}", f"{actor.display_name} left.")
        line.named = {actor.id: actor.display_name}
        return line, with_pair(state, _departure(person, is_by_choice=True))

    change_roster(thread_id, plan)


def change_roster(thread_id: str, plan: Plan) -> Appended | None:
    try:
        appended = append(thread_id, plan)
    except NothingToDo:
        return None
    publish_appended(appended)
    publish_roster(appended.state, appended.gone)
    return appended


def system_line(state: ThreadState, about: str, text: str, *, by: User | None = None) -> Line:
    # With the roster's version, so that adding the same person again later is another line.
    actor_id = by.id if by else None
    key = ":".join(filter(None, [about, actor_id, str(state.thread.roster_version)]))
    return Line(client_id=key, body=text, preview=text, actor_id=actor_id, type=SYSTEM)


def newcomer(
    state: ThreadState,
    user: User,
    *,
    role: str,
    other: User,
    former: FormerParticipant | None = None,
) -> Participant:
    thread = state.thread
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


def _side_of(state: ThreadState, actor: User) -> str:
    return SELLER if actor.id == state.thread.seller_id else BUYER


def _invitation(state: ThreadState, user: User, actor: User) -> Invitation:
    """A row among their requests, which says who invited them and to what; no word of what was
    said. The cursors are those of somebody who has read everything."""
    thread = state.thread
    text = "Invited you to this conversation."
    return Invitation(
        thread.pk,
        keys.invitation_sk(user.id),
        role=_side_of(state, actor),
        person=person_of(user),
        folder=REQUESTS,
        request_state=PENDING,
        subject=thread.subject,
        kind=thread.kind,
        other_side=person_of(actor),
        others_count=len(state.people),
        last_read_tally=thread.last_tally,
        last_message={"author": actor.id, "type": SYSTEM, "text": text},
        inbox_pk=keys.inbox_pk(user.id, REQUESTS),
    )


def _departure(person: Participant, *, is_by_choice: bool) -> Roster:
    """Somebody who goes keeps neither a draft nor a card that waits for them here."""
    pk = keys.user_pk(person.user_id)
    draft = Draft(pk, keys.draft_sk(person.thread_id))
    prefix = keys.waiting_sk(person.thread_id, "")
    waiting = query(pk, Item.sk.startswith(prefix), limit=40).of(ActionWaiting)
    return Roster(leaving=[person], belongings=[draft, *waiting], is_by_choice=is_by_choice)


def with_pair(state: ThreadState, roster: Roster) -> Roster:
    """Of three, two who did not begin it may be left: what holds between them has to hold here."""
    people = [*state.people.values(), *roster.joining]
    sides = [p.user_id for p in people if p.role != ADMIN and p.user_id not in roster.leaving_ids]
    if len(sides) == 2:
        pair_pk = keys.pair_pk(*sides)
        roster.pair = Pair.find(pair_pk, keys.STATE) or Pair(pair_pk, keys.STATE)
        roster.blockers = roster.pair.blocked_by or set()
    if len(sides) < 2:
        roster.blockers = set()
    return roster
