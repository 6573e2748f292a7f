from django.urls import path

from core import converters  # noqa: F401  (its ids are used in the paths)
from projects.views import (
    billing,
    cards,
    documents,
    offers,
    panel,
    payment_overview,
    payments,
    statements,
)

app_name = "projects"
urlpatterns = [
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
    path("threads/<thread:thread_id>/cards/<slug:type_name>/", cards.new, name="card_new"),
    path("cards/<card:card_id>/", cards.card, name="card"),
    path("cards/<card:card_id>/<slug:transition_name>/", cards.transition, name="card_transition"),
    path("bookings/<leg:leg_id>/calendar.ics", cards.calendar, name="calendar"),
    path("contracts/<contract:document_id>/", documents.contract, name="contract"),
    path("contracts/<contract:document_id>/sign/", documents.sign, name="contract_sign"),
    path(
        "contracts/<contract:document_id>/<int:number>.pdf",
        documents.contract_pdf,
        name="contract_pdf",
    ),
    path("bookings/<leg:leg_id>/payment/", payments.payment, name="payment"),
    path("bookings/<leg:leg_id>/statement.pdf", statements.pdf, name="statement_pdf"),
    path("bookings/<leg:leg_id>/statement.csv", statements.csv, name="statement_csv"),
    path("bookings/<leg:leg_id>/link/", documents.link, name="link"),
    path("bookings/<group:group_id>/", documents.booking_group, name="booking_group"),
    path("payments/", payment_overview.payments, name="payments"),
    path("settings/billing/", billing.billing, name="billing"),
    path("receipts/<receipt:receipt_id>/", payments.receipt, name="receipt"),
    path("receipts/<receipt:receipt_id>/reverse/", payments.reverse, name="reverse_payment"),
    path("receipts/<receipt:receipt_id>/pdf/", payments.receipt_pdf, name="receipt_pdf"),
    path("deliverables/<manifest:manifest_id>/", documents.manifest, name="manifest"),
]
