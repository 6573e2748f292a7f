from django.apps import AppConfig
from django.db.models.signals import post_migrate


class ModerationConfig(AppConfig):
    name = "moderation"
    verbose_name = "Safety"

    def ready(self) -> None:
        from core.outbox.handlers import register
        from files import cleanup
        from moderation import queries, roles
        from moderation.actions import reports

        post_migrate.connect(roles.create_groups, sender=self)

        # Lower layers cannot call this app, so they request cases through the outbox.
        register("case", reports.open_from_outbox)
        register("hold_release", reports.release_from_outbox)
        register("hold_conversion", reports.convert_hold_from_outbox)
        cleanup.RETENTION_QUERIES.append(queries.list_kept_threads)
