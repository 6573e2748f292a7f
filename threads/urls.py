from django.urls import path

from threads import (
    card_views,
    converters,  # noqa: F401  (its ids are used in the paths)
    data_views,
    deletion_views,
    devices,
    file_views,
    offer_views,
    panel_views,
    payment_views,
    record_views,
    views,
)

app_name = "threads"
urlpatterns = [
    path("settings/devices/", devices.devices, name="devices"),
    path("settings/devices/others/", devices.sign_out_others, name="sign_out_others"),
    path("settings/devices/<int:sign_in_id>/", devices.sign_out, name="sign_out_device"),
    path("settings/data/", data_views.data, name="data"),
    path("settings/data/export/", data_views.export_everything, name="export_everything"),
    path("settings/data/delete/", deletion_views.delete, name="delete_account"),
    path("settings/data/<export:export_id>/", data_views.export, name="export"),
    path("threads/<thread:thread_id>/export/", data_views.export_thread, name="export_thread"),
    path("people/<slug:handle>/start/", views.start, name="start"),
    path("threads/<thread:thread_id>/", views.thread, name="thread"),
    path("threads/<thread:thread_id>/messages/", views.messages, name="messages"),
    path(
        "threads/<thread:thread_id>/messages/<message:message_id>/", views.message, name="message"
    ),
    path("threads/<thread:thread_id>/files/", file_views.upload, name="upload"),
    path("files/<file:file_id>/", file_views.file, name="file"),
    path("threads/<thread:thread_id>/read/", views.read, name="read"),
    path("threads/<thread:thread_id>/accept/", views.accept, name="accept"),
    path("threads/<thread:thread_id>/decline/", views.decline, name="decline"),
    path("threads/<thread:thread_id>/add/", views.add, name="add"),
    path("threads/<thread:thread_id>/remove/", views.remove, name="remove"),
    path(
        "threads/<thread:thread_id>/safe-mode/<on_or_off:way>/", views.safe_mode, name="safe_mode"
    ),
    path("threads/<thread:thread_id>/leave/", views.leave, name="leave"),
    path("threads/<thread:thread_id>/block/", views.block, name="block"),
    path("threads/<thread:thread_id>/unblock/", views.unblock, name="unblock"),
    path("threads/<thread:thread_id>/panel/<slug:tab>/", panel_views.tab, name="panel_tab"),
    path("threads/<thread:thread_id>/proofs/", panel_views.proofs, name="proofs"),
    path(
        "threads/<thread:thread_id>/proofs/<file:file_id>/remove/",
        panel_views.proof_remove,
        name="proof_remove",
    ),
    path("threads/<thread:thread_id>/offer/", offer_views.new, name="offer_new"),
    path("threads/<thread:thread_id>/deliver/", record_views.deliver, name="deliver"),
    path("offers/<offer:offer_id>/", offer_views.offer, name="offer"),
    path("offers/<offer:offer_id>/<slug:answer>/", offer_views.answer, name="offer_answer"),
    path("threads/<thread:thread_id>/cards/<slug:type_name>/", card_views.new, name="card_new"),
    path("cards/<card:card_id>/", card_views.card, name="card"),
    path("cards/<card:card_id>/<slug:move_name>/", card_views.move, name="card_move"),
    path("bookings/<leg:leg_id>/calendar.ics", card_views.calendar, name="calendar"),
    path("contracts/<contract:document_id>/", record_views.contract, name="contract"),
    path("contracts/<contract:document_id>/sign/", record_views.sign, name="contract_sign"),
    path(
        "contracts/<contract:document_id>/<int:number>.pdf",
        record_views.contract_pdf,
        name="contract_pdf",
    ),
    path("bookings/<leg:leg_id>/payment/", payment_views.payment, name="payment"),
    path("bookings/<leg:leg_id>/link/", record_views.link, name="link"),
    path("bookings/<group:group_id>/", record_views.booking_group, name="booking_group"),
    path("receipts/<receipt:receipt_id>/", payment_views.receipt, name="receipt"),
    path("receipts/<receipt:receipt_id>/reverse/", payment_views.reverse, name="reverse_payment"),
    path("receipts/<receipt:receipt_id>/pdf/", payment_views.receipt_pdf, name="receipt_pdf"),
    path("deliverables/<manifest:manifest_id>/", record_views.manifest, name="manifest"),
]
