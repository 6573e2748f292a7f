"""Refusals: the errors that users see on pages and sockets, with their texts."""

from typing import Any, NamedTuple


class RefusalText(NamedTuple):
    status: int
    message: str
    hint: str


class Refusal(Exception):
    """Raised by actions and queries; views and consumers turn it into a page or an error frame."""

    def __init__(
        self, code: str, message: str = "", *, hint: str = "", retry_after: int | None = None
    ) -> None:
        text = REFUSALS[code]
        self.code = code
        self.status = text.status
        self.message = message or text.message
        self.hint = hint or text.hint
        self.retry_after = retry_after
        # Additional data for the client, such as the current version of a tab.
        self.details: dict[str, Any] = {}
        super().__init__(f"{code}: {self.message}")

    def as_dict(self, corr_id: str) -> dict[str, Any]:
        """The fields for a template or an error frame; `corr_id` links it to the log."""
        fields: dict[str, Any] = {
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "corr_id": corr_id,
            **self.details,
        }
        if self.retry_after is not None:
            fields["retry_after"] = self.retry_after
        return fields


REFUSALS: dict[str, RefusalText] = {
    "ACCOUNT_SUSPENDED": RefusalText(
        403, "Your account is suspended.", "Contact support to find out why."
    ),
    "ACTION_CONFLICT": RefusalText(
        409, "This conflicts with another booking.", "Suggest something else."
    ),
    "ACTION_FORBIDDEN": RefusalText(403, "You can't do this.", "Ask someone who has permission."),
    "ACTION_INVALID_STATE": RefusalText(
        409, "This is no longer possible.", "Reload the page to see what changed."
    ),
    "BAD_FRAME": RefusalText(
        400, "We couldn't understand that request.", "Reload the page and try again."
    ),
    "CALENDAR_LIMIT": RefusalText(
        409, "Your calendar is full.", "Remove something that you no longer need."
    ),
    "CALENDAR_NOT_FOUND": RefusalText(
        404, "We couldn't find that calendar.", "Go back to your calendar."
    ),
    "CARD_EXPIRED": RefusalText(
        409, "The time to respond has passed.", "Send a new proposal if you still need it."
    ),
    "CARD_INVALID": RefusalText(
        400,
        "Some details need to be corrected.",
        "Correct the marked fields. Nothing has been sent yet.",
    ),
    "CASE_NOT_FOUND": RefusalText(
        404, "We couldn't find that case.", "Go back to the list of cases."
    ),
    "CLIENT_ID_REUSED": RefusalText(
        409, "This was already sent with different text.", "Send it as a new message."
    ),
    "DELETION_REFUSED": RefusalText(
        409, "Your account can't be deleted yet.", "Finish what's still open, or contact support."
    ),
    "EXPORT_NOT_FOUND": RefusalText(
        404,
        "We couldn't find that export.",
        "Exports are only kept for a few days. Request a new one.",
    ),
    "MSG_BLOCKED_BY_USER": RefusalText(
        403, "You can't message each other.", "One of you has blocked the other."
    ),
    "MSG_EMPTY": RefusalText(
        400, "Type a message first.", "A message needs at least one character."
    ),
    "MSG_GATE_REQUIRED": RefusalText(
        403,
        "This person needs more details before new people can message them.",
        "Their profile page says what to include.",
    ),
    "MSG_NOT_EDITABLE": RefusalText(
        403,
        "This message can no longer be edited.",
        "You can edit your own messages for 15 minutes.",
    ),
    "MSG_NSFW_BLOCKED": RefusalText(
        403, "Safe mode is hiding this photo.", "You can change safe mode in your settings."
    ),
    "MSG_POLICY_BLOCKED": RefusalText(
        403,
        "Your message wasn't sent because it points away from Parley.",
        "Until a booking is agreed, keep messages and payments on Parley. It protects you both.",
    ),
    "MSG_TOO_LONG": RefusalText(
        400,
        "Messages can have up to 8,000 characters.",
        "Shorten it, or split it into several messages. Your text is still in the box.",
    ),
    "OFFER_INVALID": RefusalText(
        400, "This offer isn't complete.", "Fill in the missing details. Nothing has been sent yet."
    ),
    "PANEL_INVALID": RefusalText(
        400, "This change can't be saved.", "Correct it and it will be saved automatically."
    ),
    "PANEL_VERSION_CONFLICT": RefusalText(
        409,
        "Someone else changed this while you were editing.",
        "Keep your version, theirs or both. Nothing was lost.",
    ),
    "PAYMENT_INVALID": RefusalText(
        400,
        "This payment can't be recorded.",
        "Correct the details. Nothing has been recorded yet.",
    ),
    "PERSON_NOT_FOUND": RefusalText(
        404, "We couldn't find that person.", "Check the address, or go back to your inbox."
    ),
    "PHOTO_NOT_FOUND": RefusalText(
        404, "We couldn't find that photo.", "It may have been removed or replaced."
    ),
    "RATE_LIMITED": RefusalText(
        429, "You're doing that too quickly.", "Wait a moment and try again."
    ),
    "REQUEST_PENDING": RefusalText(
        403, "Your request hasn't been accepted yet.", "You can send more messages once it is."
    ),
    "SAFETY_SOFT_BLOCK": RefusalText(
        403, "This conversation is on hold.", "Our safety team is reviewing it."
    ),
    "SIGNATURE_INVALID": RefusalText(
        400,
        "Your signature isn't complete.",
        "Read the document to the end, then type your full legal name.",
    ),
    "SOCKET_LIMIT": RefusalText(
        429,
        "Parley is open in too many tabs.",
        "This tab no longer updates. Close some others, then reload it.",
    ),
    "THREAD_LOCKED": RefusalText(
        403, "This conversation is read-only.", "Our staff have locked it."
    ),
    "THREAD_NOT_FOUND": RefusalText(
        404, "We couldn't find that conversation.", "Go back to your inbox to find it."
    ),
    "TOO_LARGE": RefusalText(
        413, "This is too large to save.", "Shorten it and try again. Nothing was changed."
    ),
    "TRY_AGAIN": RefusalText(
        503, "We couldn't save that just now.", "Nothing was lost. Try again in a moment."
    ),
    "UPLOAD_GONE": RefusalText(
        409,
        "One of the attached files is no longer available.",
        "Attach it again and resend the message.",
    ),
    "UPLOAD_QUARANTINED": RefusalText(
        503,
        "This file couldn't be scanned.",
        "No one can see it until it has been. Try again later.",
    ),
    "UPLOAD_TOO_LARGE": RefusalText(
        413, "Files can be up to 20 MB.", "Make it smaller, or share a link to it."
    ),
    "UPLOAD_TYPE": RefusalText(
        415,
        "We accept photos, PDFs and text files up to 20 MB.",
        "Photos can be JPEG, PNG, WebP, GIF, HEIC or AVIF.",
    ),
    "VERIFICATION_NOT_FOUND": RefusalText(
        404, "We couldn't find that request.", "Go back to the list of requests."
    ),
}
