"""The form of actions on inbox rows."""

import re
from typing import Any

from django import forms
from django.http import QueryDict

from core.ids import is_id
from core.refusals import Refusal
from inbox.actions import INBOX_ACTIONS, muted_until

MAX_SELECTED = 100
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)


class InboxActionForm(forms.Form):
    act = forms.ChoiceField(choices=[(act, act) for act in INBOX_ACTIONS])
    how_long = forms.ChoiceField(
        choices=[(how, how) for how in ("hour", "tomorrow", "good")], required=False
    )
    # An exact time, used by the undo of `unmute`.
    until = forms.RegexField(TIMESTAMP, required=False)

    @classmethod
    def parse(cls, data: QueryDict) -> dict[str, Any]:
        """Returns the arguments of `run_action`. The value of a button may be `mute hour`."""
        act, _, how_long = data.get("act", "").partition(" ")
        form = cls({"act": act, "how_long": how_long, "until": data.get("until", "")})
        if not form.is_valid():
            raise Refusal("BAD_FRAME")
        arguments: dict[str, Any] = {
            "act": act,
            "thread_ids": _check_threads(data.getlist("thread")),
        }
        if act == "mute":
            arguments["until"] = form.cleaned_data["until"] or muted_until(how_long)
        return arguments


def _check_threads(given: list[str]) -> list[str]:
    threads = list(dict.fromkeys(given))
    if not threads:
        raise Refusal("BAD_FRAME", "Select a conversation first.")
    if len(threads) > MAX_SELECTED:
        raise Refusal("BAD_FRAME", f"You can select up to {MAX_SELECTED} conversations at a time.")
    if not all(is_id("thrd", thread) for thread in threads):
        raise Refusal("THREAD_NOT_FOUND")
    return threads
