from django.apps import AppConfig


class AvailabilityConfig(AppConfig):
    name = "availability"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from availability.busy_times import list_busy_times
        from contracts import schedule

        schedule.busy_sources.append(list_busy_times)
