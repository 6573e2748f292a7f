"""What is asked of the list: which conversations, and what of them. Untrusted, checked here."""

import re
from typing import Any

from django import forms
from django.http import QueryDict

from core.ids import is_id
from core.refusals import Refusal
from inbox.actions import INBOX_ACTIONS, muted_until

MAX_SELECTED = 100
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)


class InboxActionForm(forms.Form):
    act = forms.ChoiceField(choices=[(act, act) for act in INBOX_ACTIONS])
    how_long = forms.ChoiceField(
        choices=[(how, how) for how in ("hour", "tomorrow", "good")], required=False
    )
    # An exact time, as taking back a mute has to say it.
    until = forms.RegexField(TIME, required=False)

    @classmethod
    def read(cls, data: QueryDict) -> dict[str, Any]:
        """The arguments of `perform`, or a refusal. A button may say `mute hour` in one word."""
        act, _, how_long = data.get("act", "").partition(" ")
        form = cls({"act": act, "how_long": how_long, "until": data.get("until", "")})
        if not form.is_valid():
            raise Refusal("BAD_FRAME")
        arguments: dict[str, Any] = {"act": act, "thread_ids": _threads(data.getlist("thread"))}
        if act == "mute":
            arguments["until"] = form.cleaned_data["until"] or muted_until(how_long)
        return arguments


def _threads(given: list[str]) -> list[str]:
    threads = list(dict.fromkeys(given))
    if not threads:
        raise Refusal("BAD_FRAME", "Choose a conversation first.", hint="Tick one or more of them.")
    if len(threads) > MAX_SELECTED:
        raise Refusal("BAD_FRAME", f"That works for at most {MAX_SELECTED} at once.")
    if not all(is_id("thrd", thread) for thread in threads):
        raise Refusal("THREAD_NOT_FOUND")
    return threads
