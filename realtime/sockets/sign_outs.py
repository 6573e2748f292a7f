"""Closes sockets after a sign-out, a change of password or a suspension."""

from typing import Any

from allauth.account.signals import password_changed, password_reset, password_set
from django.contrib.auth.signals import user_logged_out
from django.db import transaction
from django.db.models.signals import post_save
from django.dispatch import receiver
from django.http import HttpRequest

from accounts.models import User
from accounts.sign_in.sessions import session_hash
from realtime.broadcast.delivery import end_session, recheck_sessions


@receiver(user_logged_out)
def close_sockets(sender: Any, request: HttpRequest, user: User | None, **_: Any) -> None:
    session_key = request.session.session_key
    if user is not None and session_key:
        end_session(user.id, session_hash(session_key))


@receiver([password_changed, password_reset, password_set])
def recheck_sockets(sender: Any, user: User, **_: Any) -> None:
    transaction.on_commit(lambda: recheck_sessions(user.id))


@receiver(post_save, sender=User)
def recheck_suspended(sender: Any, instance: User, **_: Any) -> None:
    if not instance.is_active:
        transaction.on_commit(lambda: recheck_sessions(instance.id))
