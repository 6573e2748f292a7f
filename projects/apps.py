from typing import TYPE_CHECKING, Any

from django.apps import AppConfig

if TYPE_CHECKING:
    from core.outbox.models import OutboxEntry


class ProjectsConfig(AppConfig):
    name = "projects"

    def ready(self) -> None:
        from core.outbox.handlers import register
        from projects.cards.rendering import card_view
        from projects.panel.files import can_view_in_panel, settle_pins
        from projects.panel.outbox import handle_booking
        from projects.views.thread_sections import project_section
        from threads import registry
        from threads.models.message import ACTION
        from threads.signals import thread_resumed, thread_stopped

        register("booking", handle_booking)
        register("offer_card", _add_missing_card)
        registry.message_renderers[ACTION] = card_view
        registry.page_sections.append(project_section)
        registry.file_viewers.append(can_view_in_panel)
        registry.cleanup_jobs.append(settle_pins)
        thread_stopped.connect(_pause_deadlines, dispatch_uid="clock")
        thread_resumed.connect(_resume_deadlines, dispatch_uid="clock")


def _add_missing_card(entry: "OutboxEntry") -> None:
    """Its own outbox entries follow in the same order."""
    from contracts.cards.missing_cards import add_missing_card

    add_missing_card(entry.payload["offer"])


def _pause_deadlines(thread_id: str, reason: str, **_: Any) -> None:
    from contracts.cards import deadlines
    from core.outbox.processing import process_now

    process_now(deadlines.pause_deadlines(thread_id, reason))


def _resume_deadlines(thread_id: str, reason: str, **_: Any) -> None:
    from contracts.cards import deadlines
    from core.outbox.processing import process_now

    process_now(deadlines.resume_deadlines(thread_id, reason))
