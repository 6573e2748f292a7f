"""/styleguide/: every component in every state, in light and dark, with sample data."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

from django import forms
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.templatetags.static import static
from django.views.decorators.http import require_safe

from core.refusals import REFUSALS
from projects.cards.rendering import make_card_view
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.rendering.attachments import AttachmentView

AT = datetime(2026, 11, 13, 14, 5, tzinfo=UTC)
JONAS = {"id": "usr_jonas", "name": "Jonas Weber", "handle": "jonas-weber", "avatar": ""}
YUI = {"id": "usr_yui", "name": "佐藤 結衣", "handle": "yui-sato", "avatar": ""}
LAYLA = {"id": "usr_layla", "name": "ليلى منصور", "handle": "layla-mansour", "avatar": ""}
LONG = {
    "id": "usr_long",
    "name": "Maximiliane-Konstanze von Hohenlohe-Langenburg",
    "handle": "maximiliane",
    "avatar": "",
}
TRAY = [
    ("window.jpg", "done", "1.2 MB", 0),
    ("street.heic", "sending", "40 % of 3.1 MB", 40),
    ("contract.docx", "refused", REFUSALS["UPLOAD_TYPE"].message, 0),
]
TOKENS = [
    *("surface", "surface-raised", "surface-sunken", "ink", "ink-soft", "line", "line-strong"),
    *("accent", "accent-soft", "waiting", "waiting-soft", "danger", "danger-soft", "ok", "ok-soft"),
]


class SampleForm(forms.Form):
    name = forms.CharField(label="Your name")
    city = forms.CharField(required=False, help_text="Where you work most of the time.")
    zone = forms.ChoiceField(label="Time zone", choices=[("Europe/Lisbon", "Europe/Lisbon")])
    about = forms.CharField(widget=forms.Textarea, required=False)
    remember = forms.BooleanField(label="Remember me", required=False)


@require_safe
def styleguide(request: HttpRequest) -> HttpResponse:
    if not (settings.DEBUG or settings.EMBEDDED):
        raise Http404
    panels = [_panel(theme) for theme in ("light", "dark")]
    return render(request, "site/styleguide.html", {"panels": panels})


def _panel(theme: str) -> dict[str, object]:
    """The components of one theme. Ids contain its name, because the page shows both."""
    return {
        "theme": theme,
        "tokens": TOKENS,
        "tones": range(12),
        "rows": _rows(),
        "timeline": _timeline(theme),
        "cards": _cards(),
        "attachments": _attachments(),
        "tray": TRAY,
        "form": SampleForm(auto_id=f"{theme}_%s", initial={"name": "Mara Klein"}),
        "bad_form": SampleForm({"name": ""}, auto_id=f"{theme}_bad_%s"),
        "refusal": {
            "message": REFUSALS["RATE_LIMITED"].message,
            "hint": REFUSALS["RATE_LIMITED"].hint,
            "corr_id": "3f9ac01b22d4e6f0",
        },
    }


def _rows() -> list[SimpleNamespace]:
    return [
        _row(JONAS, "Autumn tableware", "Friday at ten works.", unread=2, pinned=True),
        _row(YUI, "商品写真のご相談", "来週の火曜日はいかがでしょうか。", is_current=True),
        _row(LAYLA, "تصوير مجموعة الخريف", "سأرسل لك العرض غدًا صباحًا", unread=128, muted=True),
        _row(
            LONG,
            "A subject that is too long for the row it is shown in",
            "Thank you",
            mine=True,
            waits_for="them",
        ),
        _row(JONAS, "Lookbook, 24 pages", "See you there 🎉", kind="project", others_count=3),
        _row(JONAS, "Portraits", "Could you send an offer?", waits_for="you", is_marked=True),
        _row(YUI, "Portraits in May", "Hello, are you free?", unread=1, is_request=True),
    ]


def _row(other: dict[str, str], subject: str, text: str, **more: object) -> SimpleNamespace:
    plain = {
        "kind": "inquiry",
        "others_count": 0,
        "unread": 0,
        "pinned": False,
        "muted": False,
        "muted_until": "",
        "is_marked": False,
        "is_request": False,
        "waits_for": "",
        "is_current": False,
    }
    return SimpleNamespace(
        **{"thread_id": "", "url": "#rows", "subject": subject, "other": other, "last_text": text},
        **{"last_at": AT, "last_at_label": "14:05", "last_is_mine": more.pop("mine", False)},
        **(plain | more),
    )


def _timeline(theme: str) -> list[SimpleNamespace]:
    sample: list[tuple[dict[str, str] | None, str, dict[str, object]]] = [
        (None, "<p>Mara Klein started this conversation.</p>", {"type": "system", "day": "Today"}),
        (JONAS, "<p>Two questions:</p><ol><li>Which <strong>surface</strong>?</li></ol>", {}),
        (JONAS, "<p>And who is on set?</p>", {"joins": True}),
        (YUI, "<blockquote><p>Which surface?</p></blockquote><p><code>#f6f3ed</code></p>", {}),
        (JONAS, "<p>The oak table, please.</p>", {"mine": True, "edited": True}),
        (JONAS, "<p>See <a href='#bubbles'>the picture</a>.</p>", {"mine": True, "joins": True}),
        (LAYLA, "<p>سأحضر معي بعض الأقمشة من القاهرة.</p>", {}),
        (LAYLA, "", {"joins": True, "removed": True}),
        (LONG, f"<p>{'Averylongwordwithoutspaces' * 4}</p>", {}),
    ]
    return [_entry(f"{theme}_msg_{seq}", seq, *line) for seq, line in enumerate(sample, start=1)]


def _cards() -> list[dict[str, Any]]:
    """A card that needs the viewer's answer, and the same card after it."""
    start, end = "2026-11-27T09:00:00+00:00", "2026-11-27T15:00:00+00:00"
    action: dict[str, Any] = {
        **{"id": "card_01ARZ3NDEKTSV4RRFFQ69G5FAV", "type": "reschedule", "version": 1},
        **{"by": JONAS["id"], "waitsFor": [YUI["id"]], "answers": None, "isStopped": False},
        **{"state": "pending", "isOpen": True, "dueAt": keys.iso(AT), "at": keys.iso(AT)},
        "said": "",
        "moves": {name: [YUI["id"]] for name in ("accept", "counter", "decline")},
        "payload": {
            **{"old_start": start, "old_end": end, "zone": "Europe/Lisbon"},
            **{"new_start": start.replace("27T", "28T"), "new_end": end.replace("27T", "28T")},
            "reason": "Rain is forecast for the morning.",
        },
    }
    said = f"{YUI['name']} accepted the new time."
    answered = {"state": "accepted", "isOpen": False, "waitsFor": [], "moves": {}, "said": said}
    people = cast(CachedThread, SimpleNamespace(get_person=lambda user_id: YUI))
    return [make_card_view(each, people) for each in (action, action | answered)]


def _attachments() -> list[AttachmentView]:
    """Images as shown, blurred and hidden by safe mode, a file and a link."""
    mark = static("site/mark.svg")
    pictures = [
        AttachmentView("image", f"Sample {band}", "12 KB", "#main", mark, "#main", "#main", 120, 90)
        for band in range(3)
    ]
    for band, picture in enumerate(pictures):
        picture.band = band
    return [
        *pictures,
        AttachmentView("pdf", "Call sheet.pdf", "84.2 KB", "#main", download_url="#main"),
        AttachmentView("link", "The walk, first cut", "video.example", "#main"),
    ]


def _entry(
    message_id: str, seq: int, author: dict[str, str] | None, html: str, more: dict[str, object]
) -> SimpleNamespace:
    message = SimpleNamespace(
        **{"id": message_id, "seq": seq, "tally": seq, "author": author, "html": html, "at": AT},
        **{"type": more.get("type", "text"), "time_label": "14:05", "url": f"#{message_id}"},
        **{"client_id": "", "edited": more.get("edited"), "removed": more.get("removed")},
    )
    return SimpleNamespace(
        message=message,
        day=more.get("day", ""),
        mine=more.get("mine", False),
        joins=more.get("joins", False),
    )
