from datetime import datetime
from typing import Any

from django.apps import AppConfig


class PeopleConfig(AppConfig):
    name = "people"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from files import queries
        from people.files_in_use import USE_QUERIES
        from people.views.request_sender import request_sender_section
        from threads import registry, signals

        queries.USE_QUERIES.extend(USE_QUERIES)
        registry.page_sections.append(request_sender_section)
        signals.profile_changed.connect(_refresh_listing, dispatch_uid="directory")
        signals.request_sent.connect(_record_request, dispatch_uid="response times")
        signals.request_accepted.connect(_record_acceptance, dispatch_uid="response times")
        signals.request_declined.connect(_record_refusal, dispatch_uid="response times")


def _refresh_listing(user_id: str, **_: Any) -> None:
    from people.search.index import refresh_listing

    refresh_listing(user_id)


def _record_request(thread_id: str, user_id: str, asked_at: datetime, **_: Any) -> None:
    from people.response_times import record_request

    record_request(thread_id, user_id, asked_at=asked_at)


def _record_acceptance(thread_id: str, user_id: str, asked_at: datetime, **_: Any) -> None:
    from people.response_times import record_acceptance

    record_acceptance(thread_id, user_id, asked_at=asked_at)


def _record_refusal(thread_id: str, user_id: str, **_: Any) -> None:
    from people.response_times import record_refusal

    record_refusal(thread_id, user_id)
