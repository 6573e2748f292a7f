from django.apps import AppConfig


class ThreadsConfig(AppConfig):
    name = "threads"

    def ready(self) -> None:
        from accounts.outbox.handlers import register
        from threads import relay  # noqa: F401  (registers its handlers)
        from threads.leaving import carry_deletion

        # Not in the relay itself: it uses actions, and some actions use the relay.
        register("deletion", carry_deletion)
