from django.apps import AppConfig


class ThreadsConfig(AppConfig):
    name = "threads"

    def ready(self) -> None:
        from core.outbox.handlers import register
        from privacy.account_deletion import carry_deletion
        from threads import relay  # noqa: F401  (registers its handlers)

        # Not in the relay itself: it uses actions, and some actions use the relay.
        register("deletion", carry_deletion)
