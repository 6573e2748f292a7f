"""What is pushed is what the template makes of it, also where the template is not asked again."""

from uuid import uuid4

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.threads.conftest import make_person, messages_of, say, start
from threads import cache as states
from threads.actions.revisions import edit_message, react
from threads.cache import ThreadState
from threads.models import Message
from threads.rendering.messages import _cached_fragment, _is_plain, _render, render_message, view_of

ANY = st.text(st.characters(codec="utf-8"), min_size=1, max_size=60)
WORDS = st.one_of(ANY, st.sampled_from(["100 %", "%(seq)s", "{{ seq }}", "<b>", "a & b", "*bold*"]))


def from_the_template(message: Message, state: ThreadState) -> str:
    return _render({"message": view_of(message, state)})


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=WORDS, name=WORDS, avatar=st.sampled_from(["", "/media/a%20b.png"]))
def test_plain_words_are_shown_as_the_template_shows_them(thread, buyer, body, name, avatar):
    state = states.known(thread).copy()
    person = state.people[buyer.id] = state.people[buyer.id].copy()
    person.person = person.person | {"name": name, "avatar": avatar}
    message = messages_of(thread)[0].copy()
    message.body, message.client_id = body, f"<{uuid4()}>"
    assert _is_plain(message)
    assert render_message(message, state) == from_the_template(message, state)


def test_the_template_is_asked_once_for_all_that_somebody_says(thread, buyer):
    for number in range(5):
        say(buyer, thread, f"Number {number}")
    _cached_fragment.cache_clear()
    state = states.known(thread)
    shown = [render_message(message, state) for message in messages_of(thread)[1:]]
    assert len(set(shown)) == 5
    assert _cached_fragment.cache_info().misses == 1


def test_who_has_another_name_now_is_shown_by_it(buyer):
    thread = start(buyer, make_person("Sid"))
    state, (message, *_) = states.known(thread).copy(), messages_of(thread)
    before = render_message(message, state)
    state.people[buyer.id].person = state.people[buyer.id].person | {"name": "Somebody Else"}
    after = render_message(message, state)
    assert "Somebody Else" in after
    assert "Somebody Else" not in before


def test_what_is_more_than_words_is_the_templates(thread, buyer, seller):
    message = say(buyer, thread, "Before")
    react(seller, thread_id=thread, message_id=message.id, reaction="👍", on=True)
    edit_message(buyer, thread_id=thread, message_id=message.id, body="After")
    newest = messages_of(thread)[-1]
    assert not _is_plain(newest)
    assert "edited" in render_message(newest, states.known(thread))
