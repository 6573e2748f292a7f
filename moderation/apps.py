from django.apps import AppConfig
from django.db.models.signals import post_migrate


class ModerationConfig(AppConfig):
    name = "moderation"
    verbose_name = "Safety"

    def ready(self) -> None:
        from core.outbox.handlers import register
        from files import cleanup
        from moderation import outbox_handlers, queries, roles

        post_migrate.connect(roles.create_groups, sender=self)

        # Lower layers cannot call this app, so they request cases through the outbox.
        register("case", outbox_handlers.open_case)
        register("hold_release", outbox_handlers.release_holds)
        register("hold_conversion", outbox_handlers.convert_hold)
        cleanup.RETENTION_QUERIES.append(queries.list_threads_under_review)
