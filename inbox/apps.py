from typing import Any

from django.apps import AppConfig


class InboxConfig(AppConfig):
    name = "inbox"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from threads.signals import account_deleted, thread_changed

        thread_changed.connect(_note, dispatch_uid="search")
        account_deleted.connect(_forget, dispatch_uid="search")


def _note(thread_id: str, message_id: str | None = None, **_: Any) -> None:
    from inbox.search.queue import enqueue

    enqueue(thread_id, message_id)


def _forget(user_id: str, **_: Any) -> list[str]:
    from inbox.search.index import remove_person

    return remove_person(user_id)
