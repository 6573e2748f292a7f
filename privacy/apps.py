from django.apps import AppConfig


class PrivacyConfig(AppConfig):
    name = "privacy"

    def ready(self) -> None:
        from core.outbox.handlers import register
        from privacy.account_deletion import handle_deletion

        register("deletion", handle_deletion)
