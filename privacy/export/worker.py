"""Makes what people asked for, one after the other, in a thread of the server. What a server that
was stopped had begun, another one makes anew."""

import tempfile
import threading
from pathlib import Path

import structlog
from django.core.mail import send_mail
from django.db import close_old_connections, connection
from django.template.loader import render_to_string

from core.refusals import Refusal
from files.exports import claim_export, finish_export, renew_claim, retry_later
from files.models import Export
from privacy.export.account import write_account
from privacy.export.thread import write_thread
from privacy.export.zip_file import ExportZip

log = structlog.get_logger(__name__)
EVERY = 2.0


class ClaimLost(Exception):
    """Another one makes it, or nobody wants it any more."""


def run_export_worker(stop: threading.Event) -> None:
    """The server runs this in a thread of its own."""
    while not stop.is_set():
        try:
            close_old_connections()
            while not stop.is_set() and export_next():
                pass
        except Exception:
            log.exception("exporter_failed")
        stop.wait(EVERY)
    connection.close()


def export_next() -> bool:
    """Whether there was one."""
    export = claim_export()
    if export is None:
        return False
    try:
        if _make(export):
            _tell(export)
    except ClaimLost:
        log.info("export_lost", export=export.id)
    except Exception:
        log.exception("export_failed", export=export.id)
        retry_later(export)
    return True


def _make(export: Export) -> bool:
    def heard() -> None:
        if not renew_claim(export):
            raise ClaimLost

    with tempfile.TemporaryDirectory(prefix="parley-export-") as folder:
        made = Path(folder) / "export.zip"
        with ExportZip(made, heard) as parcel:
            parcel.add_style()
            if export.thread_id:
                _write_one(parcel, export)
            else:
                write_account(parcel, export.owner)
        return finish_export(export, made)


def _write_one(parcel: ExportZip, export: Export) -> None:
    try:
        write_thread(parcel, export.owner, export.thread_id)
    except Refusal as refusal:
        if refusal.code != "THREAD_NOT_FOUND":
            raise
        # They left it since they asked: there is nothing to take along any more.
        export.delete()
        raise ClaimLost from refusal


def _tell(export: Export) -> None:
    """That a mail does not go out takes nothing away from what was made."""
    try:
        text = render_to_string("privacy/export/mail.txt", {"export": export})
        send_mail("Your export is ready", text, None, [export.owner.email])
    except Exception:
        log.exception("export_mail_failed", export=export.id)
