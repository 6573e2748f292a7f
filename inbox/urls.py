from django.urls import path

from core import converters  # noqa: F401  (its ids are used in the paths)
from inbox import views

app_name = "inbox"
urlpatterns = [
    path("inbox/", views.inbox, name="inbox"),
    path("inbox/rows/", views.rows, name="rows"),
    path("inbox/rows/<thread:thread_id>/", views.row, name="row"),
    path("inbox/counts/", views.counts, name="counts"),
    path("inbox/search/", views.find, name="search"),
    path("inbox/find/", views.find_by_name, name="find"),
    path("inbox/keys/", views.keys, name="keys"),
    path("inbox/act/", views.act, name="act"),
    path("inbox/<slug:folder>/", views.inbox, name="folder"),
]
