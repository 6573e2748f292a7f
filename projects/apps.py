from typing import Any

from django.apps import AppConfig


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
        registry.message_renderers[ACTION] = card_view
        registry.page_sections.append(project_section)
        registry.file_viewers.append(can_view_in_panel)
        registry.cleanup_jobs.append(settle_pins)
        thread_stopped.connect(_stop_clock, dispatch_uid="clock")
        thread_resumed.connect(_start_clock, dispatch_uid="clock")


def _stop_clock(thread_id: str, reason: str, **_: Any) -> None:
    from contracts.cards import deadlines
    from threads.outbox_handlers import process_entries

    process_entries(deadlines.pause_deadlines(thread_id, reason))


def _start_clock(thread_id: str, reason: str, **_: Any) -> None:
    from contracts.cards import deadlines
    from threads.outbox_handlers import process_entries

    process_entries(deadlines.resume_deadlines(thread_id, reason))
