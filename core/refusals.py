"""What people see when something is refused: one table, for pages, sockets and the log alike."""

from typing import Any, NamedTuple


class RefusalText(NamedTuple):
    status: int
    message: str
    hint: str


class Refusal(Exception):
    """Raised by actions and queries; the edge makes a page, a fragment or an error frame of it."""

    def __init__(
        self, code: str, message: str = "", *, hint: str = "", retry_after: int | None = None
    ) -> None:
        words = REFUSALS[code]
        self.code = code
        self.status = words.status
        self.message = message or words.message
        self.hint = hint or words.hint
        self.retry_after = retry_after
        # What a page needs to go on from here, beyond the words.
        self.details: dict[str, Any] = {}
        super().__init__(f"{code}: {self.message}")

    def as_dict(self, corr_id: str) -> dict[str, Any]:
        """As a page and a socket show it; by the id it is found in the log."""
        described: dict[str, Any] = {
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "corr_id": corr_id,
            **self.details,
        }
        if self.retry_after is not None:
            described["retry_after"] = self.retry_after
        return described


REFUSALS: dict[str, RefusalText] = {
    "ACCOUNT_SUSPENDED": RefusalText(
        403, "Your account is suspended.", "Write to support to find out why."
    ),
    "ACTION_CONFLICT": RefusalText(
        409, "This does not go together with another booking.", "Propose something else."
    ),
    "ACTION_FORBIDDEN": RefusalText(403, "You cannot do this here.", "Ask somebody who can."),
    "ACTION_INVALID_STATE": RefusalText(
        409, "This can no longer be done.", "Reload the page to see where it stands."
    ),
    "BAD_FRAME": RefusalText(400, "We could not read that.", "Reload the page and try again."),
    "CARD_EXPIRED": RefusalText(
        409, "The time for an answer is over.", "Propose it again if it still matters."
    ),
    "CARD_INVALID": RefusalText(
        400, "This cannot be proposed like that.", "Change what is marked. Nothing was sent yet."
    ),
    "CASE_NOT_FOUND": RefusalText(
        404, "There is no such case.", "Go back to the queue to find the one you meant."
    ),
    "DELETION_REFUSED": RefusalText(
        409,
        "Your account cannot be deleted yet.",
        "Finish what is open, or write to support.",
    ),
    "EXPORT_NOT_FOUND": RefusalText(
        404, "There is no such export.", "Exports are kept for some days. Ask for a new one."
    ),
    "CLIENT_ID_REUSED": RefusalText(
        409, "This was already sent with another text.", "Send it again as a new message."
    ),
    "MSG_BLOCKED_BY_USER": RefusalText(
        403, "You cannot write to each other.", "One of you has blocked the other."
    ),
    "MSG_NOT_EDITABLE": RefusalText(
        403,
        "This message can no longer be changed.",
        "A message can be edited by its author for 15 minutes.",
    ),
    "MSG_EMPTY": RefusalText(
        400, "Write something first.", "A message needs at least one character."
    ),
    "MSG_GATE_REQUIRED": RefusalText(
        403,
        "They ask for more before somebody new may write to them.",
        "Their page says what they need to know.",
    ),
    "MSG_NSFW_BLOCKED": RefusalText(
        403, "Safe mode does not show this picture.", "Your settings say what safe mode hides."
    ),
    "MSG_POLICY_BLOCKED": RefusalText(
        403,
        "This was not sent: it leads out of the marketplace.",
        "Until a booking is agreed, talk and pay here: it protects you both.",
    ),
    "MSG_TOO_LONG": RefusalText(
        400,
        "A message can have at most 8,000 characters.",
        "Shorten it, or send it in parts. Your text is still in the box.",
    ),
    "OFFER_INVALID": RefusalText(
        400, "This offer is not complete.", "Fill in what is missing. Nothing was sent yet."
    ),
    "PANEL_INVALID": RefusalText(
        400, "This cannot be saved like that.", "Change it and it is saved by itself."
    ),
    "PANEL_VERSION_CONFLICT": RefusalText(
        409,
        "Somebody else changed this while you were writing.",
        "Keep one of the two, or put them together. Nothing was lost.",
    ),
    "PAYMENT_INVALID": RefusalText(
        400, "This cannot be recorded.", "Change the entry. Nothing was recorded yet."
    ),
    "PERSON_NOT_FOUND": RefusalText(
        404, "There is nobody by that name.", "Check the address, or go back to your inbox."
    ),
    "RATE_LIMITED": RefusalText(429, "That was a lot at once.", "Wait a moment and try again."),
    "REQUEST_PENDING": RefusalText(
        403,
        "Your request has not been accepted yet.",
        "You can write again once it is. Nothing more is needed from you.",
    ),
    "SAFETY_SOFT_BLOCK": RefusalText(
        403, "This conversation is on hold.", "Our safety team is looking at it."
    ),
    "SIGNATURE_INVALID": RefusalText(
        400, "This is not a signature yet.", "Read to the end, and type your full legal name."
    ),
    "SOCKET_LIMIT": RefusalText(
        429,
        "Parley is open in too many tabs.",
        "This one no longer updates. Close some others, then reload it.",
    ),
    "THREAD_LOCKED": RefusalText(403, "This conversation is read only.", "Staff have locked it."),
    "THREAD_NOT_FOUND": RefusalText(
        404, "There is no such conversation.", "Go back to your inbox to find the one you meant."
    ),
    "TOO_LARGE": RefusalText(
        413, "This is too large to save.", "Shorten it and try again. Nothing was changed."
    ),
    "TRY_AGAIN": RefusalText(
        503, "We could not save that just now.", "Nothing was lost. Try again in a moment."
    ),
    "UPLOAD_GONE": RefusalText(
        409, "A file of this message is no longer there.", "Attach it again and send it."
    ),
    "UPLOAD_QUARANTINED": RefusalText(
        503, "This file could not be checked.", "Nobody sees it until it was. Try again later."
    ),
    "UPLOAD_TOO_LARGE": RefusalText(
        413, "A file can have at most 20 MB.", "Make it smaller, or send a link to it."
    ),
    "UPLOAD_TYPE": RefusalText(
        415,
        "Files of this kind are not taken.",
        "Send a picture (JPEG, PNG, WebP, GIF, HEIC, AVIF), a PDF or plain text.",
    ),
}
