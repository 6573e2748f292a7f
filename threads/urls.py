from django.urls import path

from core import converters  # noqa: F401  (its ids are used in the paths)
from threads.views import devices, files, participants, threads

app_name = "threads"
urlpatterns = [
    path("settings/devices/", devices.devices, name="devices"),
    path("settings/devices/others/", devices.sign_out_others, name="sign_out_others"),
    path("settings/devices/<int:sign_in_id>/", devices.sign_out, name="sign_out_device"),
    path("people/<slug:handle>/start/", threads.start, name="start"),
    path("threads/<thread:thread_id>/", threads.thread, name="thread"),
    path("threads/<thread:thread_id>/messages/", threads.messages, name="messages"),
    path(
        "threads/<thread:thread_id>/messages/<message:message_id>/", threads.message, name="message"
    ),
    path("threads/<thread:thread_id>/files/", files.upload, name="upload"),
    path("files/<file:file_id>/", files.file, name="file"),
    path("threads/<thread:thread_id>/read/", threads.read, name="read"),
    path("threads/<thread:thread_id>/accept/", participants.accept, name="accept"),
    path("threads/<thread:thread_id>/decline/", participants.decline, name="decline"),
    path("threads/<thread:thread_id>/add/", participants.add, name="add"),
    path("threads/<thread:thread_id>/remove/", participants.remove, name="remove"),
    path(
        "threads/<thread:thread_id>/safe-mode/<on_or_off:way>/", threads.safe_mode, name="safe_mode"
    ),
    path("threads/<thread:thread_id>/leave/", participants.leave, name="leave"),
    path("threads/<thread:thread_id>/block/", participants.block, name="block"),
    path("threads/<thread:thread_id>/unblock/", participants.unblock, name="unblock"),
]
