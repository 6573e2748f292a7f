"""Forms that validate the untrusted input of pages and sockets.

`arguments` returns the keyword arguments of the action that a form is for.
"""

import re
from collections.abc import Mapping
from typing import Any

import orjson
from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import URLValidator

from accounts.models import User
from accounts.profiles.text import check_line
from core.ids import ULID_PATTERN, is_id
from core.refusals import Refusal
from threads.rendering.markdown import escape_markdown

UUID_PATTERN = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
CLIENT_ID = re.compile(rf"{UUID_PATTERN}|{ULID_PATTERN}", re.IGNORECASE)
MAX_INTEGER = 2**53 - 1
# The limit of files and of links in one message.
MAX_ATTACHMENTS = 10
_check_address = URLValidator(schemes=["https", "http"])


class PlainTextField(forms.Field):
    """Unmodified text; numbers and lists, which JSON allows, are rejected."""

    def to_python(self, value: Any) -> str:
        if value is None:
            return ""
        if not isinstance(value, str):
            raise ValidationError("Not text.")
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise ValidationError("Not valid Unicode text.") from error
        return value


class IdField(PlainTextField):
    def __init__(self, prefix: str, **kwargs: Any) -> None:
        self.prefix = prefix
        super().__init__(**kwargs)

    def validate(self, value: str) -> None:
        super().validate(value)
        if value and not is_id(self.prefix, value):
            raise ValidationError("Not an id.")


class ClientIdField(PlainTextField):
    """An id that the client chooses for an attempt: a UUID or a ULID."""

    widget = forms.HiddenInput

    def validate(self, value: str) -> None:
        super().validate(value)
        if not CLIENT_ID.fullmatch(value):
            raise ValidationError("Not a UUID or a ULID.")


class CountField(forms.IntegerField):
    widget = forms.HiddenInput

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(min_value=0, max_value=MAX_INTEGER, **kwargs)

    def to_python(self, value: Any) -> int | None:
        # Django would convert a deeply nested list to a string, which exceeds the recursion limit.
        if isinstance(value, bool) or not isinstance(value, int | str | None):
            raise ValidationError("Not a whole number.")
        return super().to_python(value)


class FlagField(forms.Field):
    """A boolean in JSON; "true" or "false" in a form."""

    def to_python(self, value: Any) -> bool:
        if isinstance(value, bool):
            return value
        if value in ("true", "false"):
            return bool(value == "true")
        raise ValidationError("Not a boolean.")

    def validate(self, value: Any) -> None:
        """False is valid, too."""


class IdListField(forms.Field):
    """Distinct ids in order: a list in JSON, separated by spaces in a form."""

    def __init__(self, prefix: str, *, max_items: int, **kwargs: Any) -> None:
        self.prefix, self.max_items = prefix, max_items
        super().__init__(**kwargs)

    def to_python(self, value: Any) -> list[str]:
        if isinstance(value, str):
            value = value.split()
        ids = value or []
        if not isinstance(ids, list) or not all(isinstance(one, str) for one in ids):
            raise ValidationError("Not a list of ids.")
        if len(ids) > self.max_items or len(set(ids)) < len(ids):
            raise ValidationError("Too many ids, or a duplicate.")
        if not all(is_id(self.prefix, one) for one in ids):
            raise ValidationError("Not an id.")
        return ids


class LinkListField(forms.Field):
    """A list of objects with `url` and `title`, which a form has as JSON text."""

    def to_python(self, value: Any) -> list[dict[str, str]]:
        if isinstance(value, str):
            try:
                value = orjson.loads(value or "[]")
            except ValueError as error:
                raise ValidationError("Not JSON.") from error
        links = value or []
        if not isinstance(links, list) or len(links) > MAX_ATTACHMENTS:
            raise ValidationError("Not a list of links.")
        return [self._link(one) for one in links]

    def _link(self, one: Any) -> dict[str, str]:
        if not isinstance(one, dict) or set(one) != {"url", "title"}:
            raise ValidationError("A link needs a URL and a title.")
        link = {name: PlainTextField().clean(one[name]).strip() for name in ("url", "title")}
        if len(link["url"]) > 2000 or len(link["title"]) > 120:
            raise ValidationError("Too long.")
        _check_address(link["url"])
        check_line(link["title"])
        return link


class ThreadCommand(forms.Form):
    """Base of the forms about a thread."""

    thread = IdField("thrd")

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments, or a refusal that names the invalid fields. Cleans field by field, because
        creating and validating a bound form costs more than the command itself."""
        form, invalid = cls.__new__(cls), []
        form.cleaned_data = {}
        for name, field in cls.base_fields.items():
            try:
                form.cleaned_data[name] = field.clean(data.get(name))
            except ValidationError:
                invalid.append(name)
        if invalid:
            raise Refusal("BAD_FRAME", hint=f"Invalid: {', '.join(sorted(invalid))}.")
        return form.arguments()

    def arguments(self) -> dict[str, Any]:
        data = dict(self.cleaned_data)
        return {"thread_id": data.pop("thread"), **data}


class SendMessage(ThreadCommand):
    client_id = ClientIdField()
    reply_to = IdField("msg", required=False)
    # The action refuses an empty or long text with its own message.
    body = PlainTextField(required=False)
    seen_seq = CountField(required=False)
    after_seq = CountField(required=False)
    attachments = IdListField("file", max_items=MAX_ATTACHMENTS, required=False)
    links = LinkListField(required=False)

    def arguments(self) -> dict[str, Any]:
        data = super().arguments()
        data["seen_seq"] = data["seen_seq"] or 0
        data["reply_to"] = data["reply_to"] or None
        return data


class MessageCommand(ThreadCommand):
    """Base of the forms about one message."""

    message = IdField("msg")

    def arguments(self) -> dict[str, Any]:
        data = super().arguments()
        data["message_id"] = data.pop("message")
        return data


class EditMessage(MessageCommand):
    body = PlainTextField(required=False)


class ReactToMessage(MessageCommand):
    reaction = PlainTextField()
    on = FlagField()


class SaveDraft(ThreadCommand):
    text = PlainTextField(required=False)
    version = CountField()


class MoveCursor(MessageCommand):
    seq = CountField()
    tally = CountField()


class OpenThread(ThreadCommand):
    after = IdField("msg", required=False)
    oldest = IdField("msg", required=False)
    rev = CountField(required=False)

    def arguments(self) -> dict[str, Any]:
        return {name: value or None for name, value in super().arguments().items()}


class ParticipantCommand(ThreadCommand):
    user_id = IdField("usr")


class AddParticipant(ThreadCommand):
    handle = forms.CharField(max_length=31)

    def clean_handle(self) -> str:
        return str(self.cleaned_data["handle"]).strip().removeprefix("@").lower()


class StartThread(forms.Form):
    """The short brief that starts a conversation."""

    what = forms.CharField(
        max_length=120,
        label="What is it about?",
        widget=forms.TextInput(attrs={"placeholder": "Portraits of our team"}),
    )
    when = forms.CharField(
        max_length=80,
        required=False,
        label="When",
        widget=forms.TextInput(attrs={"placeholder": "First week of May"}),
    )
    where = forms.CharField(
        max_length=80,
        required=False,
        label="Where",
        widget=forms.TextInput(attrs={"placeholder": "Lisbon, at our office"}),
    )
    budget = forms.CharField(
        max_length=80,
        required=False,
        label="Budget",
        widget=forms.TextInput(attrs={"placeholder": "About 1,200 EUR"}),
    )
    message = forms.CharField(max_length=7000, label="Message", widget=forms.Textarea)
    client_id = ClientIdField()

    def __init__(self, *args: Any, recipient: User | None = None, **options: Any) -> None:
        """`recipient` is a new contact, who may require a date and a budget."""
        super().__init__(*args, **options)
        if recipient is not None:
            self.fields["when"].required = recipient.requires_date
            self.fields["budget"].required = recipient.requires_budget

    def arguments(self) -> dict[str, Any]:
        data = self.cleaned_data
        return {
            "client_id": data["client_id"],
            "subject": data["what"],
            "city": data["where"],
            "body": "\n\n".join(filter(None, [data["message"], self._brief()])),
        }

    def _brief(self) -> str:
        labelled = [("When", "when"), ("Where", "where"), ("Budget", "budget")]
        lines = [
            f"- **{label}:** {escape_markdown(self.cleaned_data[name])}"
            for label, name in labelled
            if self.cleaned_data[name]
        ]
        return "\n".join(lines)
