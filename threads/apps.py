from django.apps import AppConfig


class ThreadsConfig(AppConfig):
    name = "threads"

    def ready(self) -> None:
        from threads import relay
        from threads.leaving import carry_deletion

        # Leaving is an action, and some actions need the relay: it cannot know them all itself.
        relay.CARRIERS["deletion"] = carry_deletion
