"""The cache during and after an outage of Redis."""

import os
from uuid import uuid4

import pytest
from django.core.cache import cache
from django.urls import reverse

from core.redis_outage import RedisOutage
from messaging_site import redis_cache as ours
from messaging_site.redis_cache import FallbackRedisCache

CLOSED_URL = "redis://127.0.0.1:1/0"


@pytest.fixture
def outage(monkeypatch):
    """A separate outage state, so that other tests are not affected."""
    monkeypatch.setattr(ours, "redis_outage", RedisOutage())
    return ours.redis_outage


@pytest.mark.usefixtures("outage")
@pytest.mark.parametrize("name", ["PARLEY_TEST_REDIS_URL", None])
def test_stores_and_counts_with_and_without_redis(name):
    fallback_cache = FallbackRedisCache(
        os.environ[name] if name else CLOSED_URL, {"KEY_PREFIX": uuid4().hex}
    )
    assert fallback_cache.get("tries", 0) == 0
    assert fallback_cache.add("tries", 1)
    assert not fallback_cache.add("tries", 7)
    assert fallback_cache.incr("tries") == 2
    assert fallback_cache.has_key("tries")
    assert fallback_cache.touch("tries", 60)
    fallback_cache.set("tries", 5)
    assert fallback_cache.get("tries") == 5
    assert fallback_cache.delete("tries")
    assert fallback_cache.get("tries") is None


def test_redis_is_probed_again_after_an_outage(outage, monkeypatch):
    fallback_cache = FallbackRedisCache(CLOSED_URL, {"KEY_PREFIX": uuid4().hex})
    fallback_cache.set("tries", 1)
    assert outage.is_on
    monkeypatch.setattr(fallback_cache, "_servers", [os.environ["PARLEY_TEST_REDIS_URL"]])
    fallback_cache._cache._servers, fallback_cache._cache._pools = fallback_cache._servers, {}
    outage._next_probe = 0.0
    fallback_cache.set("tries", 2)
    assert not outage.is_on
    assert fallback_cache.get("tries") == 2


@pytest.mark.django_db
@pytest.mark.usefixtures("outage")
def test_users_can_sign_in_during_an_outage_of_redis(client, settings, django_user_model):
    settings.CACHES = {
        "default": {
            "BACKEND": "messaging_site.redis_cache.FallbackRedisCache",
            "LOCATION": CLOSED_URL,
        }
    }
    assert isinstance(cache._connections["default"], FallbackRedisCache)
    django_user_model.objects.create_user(
        "mara@example.com", "a long pass phrase", handle="mara_away", display_name="Mara"
    )
    response = client.post(
        reverse("account_login"), {"login": "mara@example.com", "password": "a long pass phrase"}
    )
    assert response.status_code == 302
