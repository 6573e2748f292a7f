from django.urls import path

from moderation import views

app_name = "moderation"
urlpatterns = [
    path("threads/<thread:thread_id>/report/", views.thread, name="report_thread"),
    path(
        "threads/<thread:thread_id>/messages/<message:message_id>/report/",
        views.message,
        name="report_message",
    ),
    path("settings/reports/", views.reports, name="reports"),
    path("people/<slug:handle>/report/", views.person, name="report_person"),
]
