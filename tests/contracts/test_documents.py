"""Contracts: issuing, signing, superseding, and detecting changes to stored documents."""

import hashlib
import io
import json
import subprocess
import sys
from dataclasses import fields
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from accounts.models import User
from contracts.documents.clauses import (
    LATEST_TEMPLATE,
    TEMPLATES,
    list_variable_names,
    render_clauses,
    variables,
)
from contracts.models import ContractVersion, Leg, Signature
from contracts.terms import Terms
from contracts.triggers import protect, unprotect
from core.refusals import Refusal
from projects.actions.bookings import accept_offer, deliver_finals
from projects.panel.rebuild import list_differences
from tests.contracts.conftest import IN_MAY, book, in_week, offer_in, sign, terms
from tests.threads.conftest import messages_of
from threads.queries import open_thread


def newest(leg: Leg) -> ContractVersion:
    return leg.contract.versions.order_by("-number")[0]


@pytest.mark.storage
def test_a_contract_signed_by_both_is_in_force(leg, thread, buyer, seller):
    sign(buyer, leg)
    assert newest(leg).status == "issued"
    sign(seller, leg)
    version = newest(leg)
    assert version.status == "in_force"
    assert hashlib.sha256(version.signed_pdf).hexdigest() == version.signed_sha256
    assert len(version.signed_pdf) > len(version.pdf)
    signature = version.signatures.get(user=buyer)
    assert (signature.legal_name, signature.address) == ("Bea Legal", "192.0.2.7")
    assert signature.sha256 == version.sha256
    document = open_thread(buyer, thread).cached.tabs["docs"].snapshot["documents"][0]
    assert (document["status"], document["sha256"]) == ("in_force", version.signed_sha256)
    assert messages_of(thread)[-1].body.endswith("You've both signed, so it's now in force.")


def test_the_same_content_gives_the_same_bytes_in_another_process(leg):
    version = newest(leg)
    program = (
        "import sys, json, datetime; from contracts.documents import pdf; "
        "given = json.load(sys.stdin); "
        "given['issued_at'] = datetime.datetime.fromisoformat(given['issued_at']); "
        "sys.stdout.buffer.write(pdf.contract(**given))"
    )
    given = {
        "title": f"Contract: {leg.service}",
        "document_id": version.document_id,
        "version": 1,
        "issued_at": version.issued_at.isoformat(),
        "clauses": version.clauses,
    }
    made = subprocess.run(
        [sys.executable, "-c", program], input=json.dumps(given).encode(), capture_output=True
    )
    assert hashlib.sha256(made.stdout).hexdigest() == version.sha256, made.stderr


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"legal_name": "Bea"}, "SIGNATURE_INVALID"),
        ({"has_read": False}, "SIGNATURE_INVALID"),
        ({"number": 2}, "THREAD_NOT_FOUND"),
    ],
)
def test_an_invalid_signature_is_refused(leg, buyer, more, code):
    with pytest.raises(Refusal, match=code):
        sign(buyer, leg, **more)
    assert not Signature.objects.filter(version=newest(leg)).exists()


def test_a_stranger_finds_no_document(leg, stranger):
    with pytest.raises(Refusal, match="THREAD_NOT_FOUND"):
        sign(stranger, leg)


@pytest.mark.storage
@pytest.mark.parametrize(
    "change", [{"place": "Porto"}, {"price_cents": 90_000}, {"service": "Other"}]
)
def test_an_agreed_change_voids_what_was_signed_and_issues_a_new_version(
    leg, thread, buyer, seller, change
):
    sign(buyer, leg)
    sign(seller, leg)
    offer = offer_in(thread, buyer, terms(**change), changes=leg.id)
    accept_offer(seller, offer_id=offer.id)
    first, second = leg.contract.versions.order_by("number")
    assert (first.status, second.status) == ("void", "issued")
    assert first.signatures.count() == 2
    assert not second.signatures.exists()
    sign(buyer, leg, 2)
    assert not list(list_differences(thread))


def test_a_superseded_version_cannot_be_signed(leg, thread, buyer, seller):
    offer = offer_in(thread, buyer, terms(place="Porto"), changes=leg.id)
    accept_offer(seller, offer_id=offer.id)
    with pytest.raises(Refusal, match="ACTION_INVALID_STATE"):
        sign(buyer, leg, 1)


def test_every_variable_of_every_template_is_defined(leg):
    defined = variables(leg)
    for clauses in TEMPLATES.values():
        assert {
            name for clause in clauses for name in list_variable_names(clause.text)
        } <= defined.keys()


def test_a_contract_with_a_missing_value_is_not_issued(leg):
    leg.place = " "
    with pytest.raises(Refusal, match="is missing: place"):
        render_clauses(leg)


@pytest.mark.storage
def test_verify_documents_finds_a_changed_byte(leg, thread, buyer, seller):
    sign(buyer, leg)
    sign(seller, leg)
    assert "versions are unchanged" in verify()
    version = newest(leg)
    for column in ("pdf", "signed_pdf"):
        content = bytearray(getattr(version, column))
        content[len(content) // 2] ^= 1
        with pytest.raises(CommandError, match="contracts differ from what was issued"):
            verify_with(version, column, bytes(content))


@pytest.mark.parametrize(
    "change",
    [
        {"service": "A wedding"},
        {"place": "Porto"},
        {"starts_at": IN_MAY - timedelta(hours=1)},
        {"ends_at": IN_MAY + timedelta(hours=7)},
        {"time_zone": "Europe/Madrid"},
        {"price_cents": 120_001},
        {"deposit_cents": 0},
        {"currency": "USD"},
        {"cancellation": "strict"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_verify_documents_finds_a_booking_that_differs_from_its_contract(
    leg, buyer, seller, change
):
    sign(buyer, leg)
    sign(seller, leg)
    Leg.objects.filter(pk=leg.pk).update(**change)
    out = io.StringIO()
    with pytest.raises(CommandError):
        call_command("verify_documents", stdout=out)
    assert f"differs from the terms of the booking {leg.id}" in out.getvalue()


def test_verify_documents_compares_every_term_of_a_booking():
    """A new term has to appear in a clause, or a change to it would not be detected."""
    named = {
        name for clause in TEMPLATES[LATEST_TEMPLATE] for name in list_variable_names(clause.text)
    }
    terms = {"starts_at": "starts", "ends_at": "ends", "time_zone": "zone"}
    terms |= {"price_cents": "price", "deposit_cents": "deposit"}
    assert {terms.get(field.name, field.name) for field in fields(Terms)} <= named


def test_verify_documents_accepts_agreed_changes_and_new_names(leg, thread, buyer, seller):
    sign(buyer, leg)
    offer = offer_in(thread, buyer, terms(place="Porto"), changes=leg.id)
    accept_offer(seller, offer_id=offer.id)
    User.objects.filter(pk=buyer.pk).update(display_name="Beatrice (née Bea), and others")
    assert "versions are unchanged" in verify()


@pytest.mark.storage
def test_verify_documents_finds_a_booking_without_a_valid_contract(leg):
    ContractVersion.objects.filter(document__leg=leg).update(status="void")
    with pytest.raises(CommandError):
        verify()


def verify() -> str:
    out = io.StringIO()
    call_command("verify_documents", stdout=out)
    return out.getvalue()


class Owner:
    """Executes statements as the database owner inside a transaction, where Django's schema editor
    cannot."""

    connection = connection

    def execute(self, statement: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute(statement)


def verify_with(version: ContractVersion, column: str, content: bytes) -> None:
    """Changes a column as the database owner could, then runs the verification."""
    before = bytes(getattr(version, column))
    unprotect(Owner())
    try:
        ContractVersion.objects.filter(pk=version.pk).update(**{column: content})
        verify()
    finally:
        ContractVersion.objects.filter(pk=version.pk).update(**{column: before})
        protect(Owner())


def test_a_folder_is_compared_with_its_manifest(leg, seller, buyer, thread, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "a one.jpg").write_bytes(b"one")
    (tmp_path / "sub" / "two.jpg").write_bytes(b"two")
    out = io.StringIO()
    call_command("make_manifest", tmp_path, "https://files.example/x", stdout=out)
    manifest = deliver_finals(
        seller, leg_id=leg.id, key="1", title="Finals", listing=out.getvalue()
    )
    assert [entry["name"] for entry in manifest.entries] == ["a one.jpg", "sub/two.jpg"]
    call_command("verify_manifest", manifest.id, str(tmp_path), stdout=io.StringIO())
    files = open_thread(buyer, thread).cached.tabs["files"].snapshot["manifests"]
    assert [(each["count"], each["bytes"]) for each in files] == [(2, 6)]
    (tmp_path / "a one.jpg").write_bytes(b"eno")
    with pytest.raises(CommandError, match="1 of 2 files differ"):
        call_command("verify_manifest", manifest.id, str(tmp_path), stdout=io.StringIO())


@pytest.mark.parametrize("listing", ["", "nonsense", f"{'a' * 64} 1 javascript:x name"])
def test_a_malformed_manifest_is_refused(leg, seller, listing):
    with pytest.raises(Refusal, match="OFFER_INVALID"):
        deliver_finals(seller, leg_id=leg.id, key="1", title="Finals", listing=listing)


def test_a_second_leg_has_its_own_contract(thread, buyer, seller):
    leg = book(thread, buyer, seller, terms(), in_week(1, service="Retouching"))
    assert leg.group.legs.count() == 2
    assert ContractVersion.objects.filter(document__leg__group=leg.group).count() == 2
