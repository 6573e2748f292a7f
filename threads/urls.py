from django.urls import path

from core import converters
from privacy.views import account_deletion, data_export
from projects.views import cards, documents, offers, panel, payments
from threads.views import devices, files, threads

app_name = "threads"
urlpatterns = [
    path("settings/devices/", devices.devices, name="devices"),
    path("settings/devices/others/", devices.sign_out_others, name="sign_out_others"),
    path("settings/devices/<int:sign_in_id>/", devices.sign_out, name="sign_out_device"),
    path("settings/data/", data_export.data, name="data"),
    path("settings/data/export/", data_export.export_everything, name="export_everything"),
    path("settings/data/delete/", account_deletion.delete, name="delete_account"),
    path("settings/data/<export:export_id>/", data_export.export, name="export"),
    path("threads/<thread:thread_id>/export/", data_export.export_thread, name="export_thread"),
    path("people/<slug:handle>/start/", threads.start, name="start"),
    path("threads/<thread:thread_id>/", threads.thread, name="thread"),
    path("threads/<thread:thread_id>/messages/", threads.messages, name="messages"),
    path(
        "threads/<thread:thread_id>/messages/<message:message_id>/", threads.message, name="message"
    ),
    path("threads/<thread:thread_id>/files/", files.upload, name="upload"),
    path("files/<file:file_id>/", files.file, name="file"),
    path("threads/<thread:thread_id>/read/", threads.read, name="read"),
    path("threads/<thread:thread_id>/accept/", threads.accept, name="accept"),
    path("threads/<thread:thread_id>/decline/", threads.decline, name="decline"),
    path("threads/<thread:thread_id>/add/", threads.add, name="add"),
    path("threads/<thread:thread_id>/remove/", threads.remove, name="remove"),
    path(
        "threads/<thread:thread_id>/safe-mode/<on_or_off:way>/", threads.safe_mode, name="safe_mode"
    ),
    path("threads/<thread:thread_id>/leave/", threads.leave, name="leave"),
    path("threads/<thread:thread_id>/block/", threads.block, name="block"),
    path("threads/<thread:thread_id>/unblock/", threads.unblock, name="unblock"),
    path("threads/<thread:thread_id>/panel/<slug:tab>/", panel.tab, name="panel_tab"),
    path("threads/<thread:thread_id>/proofs/", panel.proofs, name="proofs"),
    path(
        "threads/<thread:thread_id>/proofs/<file:file_id>/remove/",
        panel.proof_remove,
        name="proof_remove",
    ),
    path("threads/<thread:thread_id>/offer/", offers.new, name="offer_new"),
    path("threads/<thread:thread_id>/deliver/", documents.deliver, name="deliver"),
    path("offers/<offer:offer_id>/", offers.offer, name="offer"),
    path("offers/<offer:offer_id>/<slug:answer>/", offers.answer, name="offer_answer"),
    path("threads/<thread:thread_id>/cards/<slug:type_name>/", cards.new, name="card_new"),
    path("cards/<card:card_id>/", cards.card, name="card"),
    path("cards/<card:card_id>/<slug:move_name>/", cards.move, name="card_move"),
    path("bookings/<leg:leg_id>/calendar.ics", cards.calendar, name="calendar"),
    path("contracts/<contract:document_id>/", documents.contract, name="contract"),
    path("contracts/<contract:document_id>/sign/", documents.sign, name="contract_sign"),
    path(
        "contracts/<contract:document_id>/<int:number>.pdf",
        documents.contract_pdf,
        name="contract_pdf",
    ),
    path("bookings/<leg:leg_id>/payment/", payments.payment, name="payment"),
    path("bookings/<leg:leg_id>/link/", documents.link, name="link"),
    path("bookings/<group:group_id>/", documents.booking_group, name="booking_group"),
    path("receipts/<receipt:receipt_id>/", payments.receipt, name="receipt"),
    path("receipts/<receipt:receipt_id>/reverse/", payments.reverse, name="reverse_payment"),
    path("receipts/<receipt:receipt_id>/pdf/", payments.receipt_pdf, name="receipt_pdf"),
    path("deliverables/<manifest:manifest_id>/", documents.manifest, name="manifest"),
]
