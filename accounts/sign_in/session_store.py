"""Sessions in the database, each read together with its user in one query."""

from typing import Any

from django.contrib.sessions.backends.db import SessionStore as DatabaseSessionStore
from django.utils import timezone

from accounts.models import User

# A session without a sign-in, such as that of a password reset, has no user here.
WITH_USER = """SELECT accounts_user.*, django_session.session_data
    FROM django_session
    LEFT JOIN accounts_signin ON accounts_signin.session_key = django_session.session_key
    LEFT JOIN accounts_user ON accounts_user.id = accounts_signin.user_id
    WHERE django_session.session_key = %s AND django_session.expire_date > %s
"""


class SessionStore(DatabaseSessionStore):
    # The user of the sign-in; whether the session is valid for them is not checked yet.
    loaded_user: User | None = None

    def load(self) -> dict[str, Any]:
        found = list(User.objects.raw(WITH_USER, [self.session_key, timezone.now()]))
        if not found:
            self._session_key = None
            return {}
        user: Any = found[0]
        self.loaded_user = user if user.pk else None
        data: dict[str, Any] = self.decode(user.session_data)
        return data
