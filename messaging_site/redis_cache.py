"""A Redis cache that falls back to memory during an outage, so that signing in still works."""

from typing import Any

from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache

from core.redis_outage import REDIS_ERRORS, redis_outage


class FallbackRedisCache(RedisCache):
    def __init__(self, server: Any, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._fallback = LocMemCache("redis-fallback", params)

    def add(self, *args: Any, **kwargs: Any) -> bool:
        return self._call("add", *args, **kwargs)

    def get(self, *args: Any, **kwargs: Any) -> Any:
        return self._call("get", *args, **kwargs)

    def set(self, *args: Any, **kwargs: Any) -> None:
        self._call("set", *args, **kwargs)

    def touch(self, *args: Any, **kwargs: Any) -> bool:
        return self._call("touch", *args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> bool:
        return self._call("delete", *args, **kwargs)

    def has_key(self, *args: Any, **kwargs: Any) -> bool:
        return self._call("has_key", *args, **kwargs)

    def incr(self, *args: Any, **kwargs: Any) -> int:
        return self._call("incr", *args, **kwargs)

    def _call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        if redis_outage.can_try():
            try:
                with redis_outage.tracked():
                    return getattr(super(), method)(*args, **kwargs)
            except REDIS_ERRORS:
                pass
        return getattr(self._fallback, method)(*args, **kwargs)
