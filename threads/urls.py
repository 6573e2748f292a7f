from django.urls import path

from threads import (
    converters,  # noqa: F401  (its ids are used in the paths)
    devices,
    views,
)

app_name = "threads"
urlpatterns = [
    path("settings/devices/", devices.devices, name="devices"),
    path("settings/devices/others/", devices.sign_out_others, name="sign_out_others"),
    path("settings/devices/<int:sign_in_id>/", devices.sign_out, name="sign_out_device"),
    path("people/<slug:handle>/start/", views.start, name="start"),
    path("threads/<thread:thread_id>/", views.thread, name="thread"),
    path("threads/<thread:thread_id>/messages/", views.messages, name="messages"),
    path(
        "threads/<thread:thread_id>/messages/<message:message_id>/", views.message, name="message"
    ),
    path("threads/<thread:thread_id>/read/", views.read, name="read"),
    path("threads/<thread:thread_id>/add/", views.add, name="add"),
    path("threads/<thread:thread_id>/remove/", views.remove, name="remove"),
    path("threads/<thread:thread_id>/leave/", views.leave, name="leave"),
    path("threads/<thread:thread_id>/block/", views.block, name="block"),
    path("threads/<thread:thread_id>/unblock/", views.unblock, name="unblock"),
]
