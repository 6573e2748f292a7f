from django.apps import AppConfig


class ThreadsConfig(AppConfig):
    name = "threads"

    def ready(self) -> None:
        from threads import outbox_handlers  # noqa: F401  (registers its handlers)
