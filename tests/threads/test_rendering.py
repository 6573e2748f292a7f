"""A published fragment equals the template's output, also when it comes from the cache."""

from uuid import uuid4

from django.template.loader import get_template
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.threads.conftest import make_person, messages_of, say, start
from threads import cache
from threads.actions.revisions import edit_message, set_reaction
from threads.cache import CachedThread
from threads.models import Message
from threads.rendering.messages import (
    MESSAGE_TEMPLATE,
    _plain_fragment,
    is_plain,
    message_view,
    render_message,
)

ANY = st.text(st.characters(codec="utf-8"), min_size=1, max_size=60)
WORDS = st.one_of(ANY, st.sampled_from(["100 %", "%(seq)s", "{{ seq }}", "<b>", "a & b", "*bold*"]))


def render_by_template(message: Message, cached: CachedThread) -> str:
    return get_template(MESSAGE_TEMPLATE).render({"message": message_view(message, cached)})


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=WORDS, name=WORDS, avatar=st.sampled_from(["", "/media/a%20b.png"]))
def test_plain_text_is_rendered_like_by_the_template(thread, buyer, body, name, avatar):
    cached = cache.peek(thread).copy()
    person = cached.people[buyer.id] = cached.people[buyer.id].copy()
    person.person = person.person | {"name": name, "avatar": avatar}
    message = messages_of(thread)[0].copy()
    message.body, message.client_id = body, f"<{uuid4()}>"
    assert is_plain(message)
    assert render_message(message, cached) == render_by_template(message, cached)


def test_the_template_is_rendered_once_per_author(thread, buyer):
    for number in range(5):
        say(buyer, thread, f"Number {number}")
    _plain_fragment.cache_clear()
    cached = cache.peek(thread)
    shown = [render_message(message, cached) for message in messages_of(thread)[1:]]
    assert len(set(shown)) == 5
    assert _plain_fragment.cache_info().misses == 1


def test_a_changed_name_is_rendered(buyer):
    thread = start(buyer, make_person("Sid"))
    cached, (message, *_) = cache.peek(thread).copy(), messages_of(thread)
    before = render_message(message, cached)
    cached.people[buyer.id].person = cached.people[buyer.id].person | {"name": "Somebody Else"}
    after = render_message(message, cached)
    assert "Somebody Else" in after
    assert "Somebody Else" not in before


def test_other_messages_are_rendered_by_the_template(thread, buyer, seller):
    message = say(buyer, thread, "Before")
    set_reaction(seller, thread_id=thread, message_id=message.id, reaction="👍", on=True)
    edit_message(buyer, thread_id=thread, message_id=message.id, body="After")
    newest = messages_of(thread)[-1]
    assert not is_plain(newest)
    assert "edited" in render_message(newest, cache.peek(thread))
