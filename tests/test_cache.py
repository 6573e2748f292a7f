"""The cache when Redis goes away and comes back."""

import os
from uuid import uuid4

import pytest
from django.core.cache import cache
from django.urls import reverse

from core.redis_outage import RedisOutage
from messaging_site import redis_cache as ours
from messaging_site.redis_cache import FallbackRedisCache

NOWHERE = "redis://127.0.0.1:1/0"


@pytest.fixture
def outage(monkeypatch):
    """What was found of Redis here says nothing to other tests."""
    monkeypatch.setattr(ours, "redis_outage", RedisOutage())
    return ours.redis_outage


@pytest.mark.usefixtures("outage")
@pytest.mark.parametrize("name", ["PARLEY_TEST_REDIS_URL", None])
def test_keeps_and_counts_whether_redis_is_there_or_not(name):
    kept = FallbackRedisCache(os.environ[name] if name else NOWHERE, {"KEY_PREFIX": uuid4().hex})
    assert kept.get("tries", 0) == 0
    assert kept.add("tries", 1)
    assert not kept.add("tries", 7)
    assert kept.incr("tries") == 2
    assert kept.has_key("tries")
    assert kept.touch("tries", 60)
    kept.set("tries", 5)
    assert kept.get("tries") == 5
    assert kept.delete("tries")
    assert kept.get("tries") is None


def test_looks_again_whether_redis_is_back(outage, monkeypatch):
    kept = FallbackRedisCache(NOWHERE, {"KEY_PREFIX": uuid4().hex})
    kept.set("tries", 1)
    assert outage.is_on
    monkeypatch.setattr(kept, "_servers", [os.environ["PARLEY_TEST_REDIS_URL"]])
    kept._cache._servers, kept._cache._pools = kept._servers, {}
    outage._next_look = 0.0
    kept.set("tries", 2)
    assert not outage.is_on
    assert kept.get("tries") == 2


@pytest.mark.django_db
@pytest.mark.usefixtures("outage")
def test_people_can_sign_in_while_redis_is_away(client, settings, django_user_model):
    settings.CACHES = {
        "default": {"BACKEND": "messaging_site.redis_cache.FallbackRedisCache", "LOCATION": NOWHERE}
    }
    assert isinstance(cache._connections["default"], FallbackRedisCache)
    django_user_model.objects.create_user(
        "mara@example.com", "a long pass phrase", handle="mara_away", display_name="Mara"
    )
    answer = client.post(
        reverse("account_login"), {"login": "mara@example.com", "password": "a long pass phrase"}
    )
    assert answer.status_code == 302
