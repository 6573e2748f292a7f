from django.apps import AppConfig


class RealtimeConfig(AppConfig):
    name = "realtime"

    def ready(self) -> None:
        from realtime.sockets import sign_outs  # noqa: F401  (connects signal receivers)
