"""Django's PostgreSQL backend with bounded waits: during an outage callers get an error soon, and
all but one a second get it at once."""

import time
from typing import Any

from django.conf import settings
from django.db.backends.postgresql import base
from django.db.utils import OperationalError
from psycopg_pool import PoolTimeout

from messaging_site.postgresql.connection import outage


class DatabaseWrapper(base.DatabaseWrapper):
    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Waits for a connection in use by others, but not for a server that does not answer."""
        deadline = time.monotonic() + settings.DATABASE_POOL_TIMEOUT
        while outage.can_try():
            try:
                return super().get_new_connection(conn_params)
            except PoolTimeout:
                if outage.is_on or time.monotonic() > deadline:
                    raise
        raise OperationalError("The database does not answer.")
