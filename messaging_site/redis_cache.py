"""The cache in Redis; in memory while Redis is away, so that sign-in, which counts here, works."""

from typing import Any

from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache

from core.redis_outage import REDIS_ERRORS, redis_outage


class FallbackRedisCache(RedisCache):
    def __init__(self, server: Any, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._meanwhile = LocMemCache("while Redis is away", params)

    def add(self, *given: Any, **named: Any) -> bool:
        return self._do("add", *given, **named)

    def get(self, *given: Any, **named: Any) -> Any:
        return self._do("get", *given, **named)

    def set(self, *given: Any, **named: Any) -> None:
        self._do("set", *given, **named)

    def touch(self, *given: Any, **named: Any) -> bool:
        return self._do("touch", *given, **named)

    def delete(self, *given: Any, **named: Any) -> bool:
        return self._do("delete", *given, **named)

    def has_key(self, *given: Any, **named: Any) -> bool:
        return self._do("has_key", *given, **named)

    def incr(self, *given: Any, **named: Any) -> int:
        return self._do("incr", *given, **named)

    def _do(self, what: str, *given: Any, **named: Any) -> Any:
        if redis_outage.can_try():
            try:
                with redis_outage.tracked():
                    return getattr(super(), what)(*given, **named)
            except REDIS_ERRORS:
                pass
        return getattr(self._meanwhile, what)(*given, **named)
