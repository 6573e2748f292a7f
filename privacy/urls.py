from django.urls import path

from core import converters  # noqa: F401  (its ids are used in the paths)
from privacy.views import account_deletion, data_export

app_name = "privacy"
urlpatterns = [
    path("settings/data/", data_export.data, name="data"),
    path("settings/data/export/", data_export.export_everything, name="export_everything"),
    path("settings/data/delete/", account_deletion.delete, name="delete_account"),
    path("settings/data/<export:export_id>/", data_export.export, name="export"),
    path("threads/<thread:thread_id>/export/", data_export.export_thread, name="export_thread"),
]
