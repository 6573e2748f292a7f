"""Who is in a thread: adding, removing, leaving. Each is a line of its own in the conversation."""

from accounts.models import User
from accounts.refusals import Refusal
from threads.actions.holds import find_former_hold
from threads.actions.messages import check_is_open, check_not_held
from threads.actions.roster_permissions import check_can_add, check_can_remove
from threads.actions.start import new_participant
from threads.models import ActionWaiting, Draft, Pair, Participant, keys
from threads.models.message import SYSTEM
from threads.models.participant import ADMIN, BUYER, SELLER
from threads.models.table import Item, query
from threads.models.thread import MAX_PARTICIPANTS
from threads.profiles import person_of
from threads.state import ThreadState
from threads.telling import tell_appended, tell_roster
from threads.writing import Appended, Line, NothingToDo, Plan, Roster, append


def add_participant(actor: User, *, thread_id: str, user: User) -> None:
    """They see the conversation from here on."""

    def plan(state: ThreadState) -> tuple[Line, Roster]:
        check_can_add(state, actor.id)
        if user.id in state.people:
            raise NothingToDo
        if len(state.people) >= MAX_PARTICIPANTS:
            raise Refusal(
                "ACTION_FORBIDDEN", f"A conversation can have at most {MAX_PARTICIPANTS} people."
            )
        text = f"{actor.display_name} added {user.display_name}."
        line = system_line(state, f"add:{user.id}", text, by=actor)
        return line, _with_pair(state, Roster(joining=[_newcomer(state, user, actor)]))

    _check_may_meet(actor, user)
    _change_roster(thread_id, plan)


def remove_participant(actor: User, *, thread_id: str, user_id: str) -> None:
    def plan(state: ThreadState) -> tuple[Line, Roster]:
        check_can_add(state, actor.id)
        person = state.people.get(user_id)
        if person is None:
            raise NothingToDo
        check_can_remove(state, actor.id, person)
        text = f"{actor.display_name} removed {person.person['name']}."
        line = system_line(state, f"remove:{user_id}", text, by=actor)
        return line, _with_pair(state, _departure(person))

    _change_roster(thread_id, plan)


def leave_thread(actor: User, *, thread_id: str) -> None:
    def plan(state: ThreadState) -> tuple[Line, Roster]:
        person = state.people.get(actor.id)
        if person is None:
            raise Refusal("THREAD_NOT_FOUND")
        check_is_open(state)
        check_not_held(person)
        line = system_line(state, f"leave:{actor.id}", f"{actor.display_name} left.")
        return line, _with_pair(state, _departure(person))

    _change_roster(thread_id, plan)


def _change_roster(thread_id: str, plan: Plan) -> Appended | None:
    try:
        appended = append(thread_id, plan)
    except NothingToDo:
        return None
    tell_appended(appended)
    tell_roster(appended.state, appended.gone)
    return appended


def _check_may_meet(actor: User, user: User) -> None:
    pair = Pair.find(keys.pair_pk(actor.id, user.id), keys.STATE)
    if pair is not None and pair.blocked_by:
        raise Refusal("MSG_BLOCKED_BY_USER", "You cannot add somebody you have no contact with.")


def system_line(state: ThreadState, about: str, text: str, *, by: User | None = None) -> Line:
    # With the roster's version, so that adding the same person again later is another line.
    actor_id = by.id if by else None
    key = ":".join(filter(None, [about, actor_id, str(state.thread.roster_version)]))
    return Line(client_id=key, body=text, preview=text, actor_id=actor_id, type=SYSTEM)


def _newcomer(state: ThreadState, user: User, actor: User) -> Participant:
    thread = state.thread
    role = SELLER if actor.id == thread.seller_id else BUYER
    person = new_participant(thread, user, role=role, other=actor)
    # Both cursors stand before the line that says they came, which is the first that they see.
    seq = thread.last_seq
    person.last_read_seq = person.delivered_seq = seq
    person.last_read_tally = thread.last_tally
    person.last_read_message_id = thread.last_message_id
    person.visible_from_seq = seq + 1
    if user.id in state.former:
        person.sending_hold = find_former_hold(thread.id, user.id)
    return person


def _departure(person: Participant) -> Roster:
    """Somebody who goes keeps neither a draft nor a card that waits for them here."""
    pk = keys.user_pk(person.user_id)
    draft = Draft(pk, keys.draft_sk(person.thread_id))
    prefix = keys.waiting_sk(person.thread_id, "")
    waiting = query(pk, Item.sk.startswith(prefix), limit=40).of(ActionWaiting)
    return Roster(leaving=[person], belongings=[draft, *waiting])


def _with_pair(state: ThreadState, roster: Roster) -> Roster:
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


__all__ = ["add_participant", "leave_thread", "person_of", "remove_participant"]
