from django.apps import AppConfig


class PeopleConfig(AppConfig):
    name = "people"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from people.views.request_sender import request_sender_section
        from threads import registry

        registry.page_sections.append(request_sender_section)
