from typing import Any

from django.apps import AppConfig


class InboxConfig(AppConfig):
    name = "inbox"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from inbox.views import sidebar_context
        from threads import registry
        from threads.signals import account_deleted, thread_changed

        registry.sidebars.append(sidebar_context)
        thread_changed.connect(_enqueue, dispatch_uid="search")
        account_deleted.connect(_remove_person, dispatch_uid="search")


def _enqueue(thread_id: str, message_id: str | None = None, **_: Any) -> None:
    from inbox.search.queue import enqueue

    enqueue(thread_id, message_id)


def _remove_person(user_id: str, **_: Any) -> list[str]:
    from inbox.search.index import remove_person

    return remove_person(user_id)
