"""Django's PostgreSQL backend with timeouts: during an outage most callers fail immediately."""

import time
from typing import Any

from django.conf import settings
from django.db.backends.postgresql import base
from django.db.utils import OperationalError
from psycopg_pool import PoolTimeout

from messaging_site.postgresql.connection import outage


class DatabaseWrapper(base.DatabaseWrapper):
    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Waits while all connections are in use, but not while the server does not answer."""
        deadline = time.monotonic() + settings.DATABASE_POOL_TIMEOUT
        while outage.can_try():
            try:
                return super().get_new_connection(conn_params)
            except PoolTimeout:
                if outage.is_on or time.monotonic() > deadline:
                    raise
        raise OperationalError("The database does not answer.")
