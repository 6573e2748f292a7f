from typing import Any

from django import forms

from core.ids import is_id
from moderation.actions.interventions import CARD, CASE_ACTIONS, PERSON
from moderation.models import MAX_TEXT_CHARS, Case, Report
from people.models.verification import MAX_REASON_CHARS

MAX_MUTE_DAYS = 365
NOT_A_MESSAGE = "Not a message."


class ReportForm(forms.Form):
    reason = forms.ChoiceField(
        choices=[("", "Choose one"), *Report.Reason.choices], label="What's wrong?"
    )
    comment = forms.CharField(
        required=False,
        max_length=MAX_TEXT_CHARS,
        label="What should we know?",
        widget=forms.Textarea(attrs={"rows": 4}),
    )


class ReasonForm(forms.Form):
    """Evidence is read and actions are taken only with a reason."""

    reason = forms.CharField(max_length=MAX_TEXT_CHARS)


class ResolveForm(ReasonForm):
    """Has one answer field for each report by a user."""

    def __init__(self, *args: Any, case: Case, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.reports = {
            f"answer_{report.pk}": report
            for report in case.reports.exclude(reporter=None).select_related("reporter")
        }
        for name in self.reports:
            self.fields[name] = forms.ChoiceField(choices=Report.Answer.choices)

    def answer_fields(self) -> list[dict[str, Any]]:
        return [
            {"name": name, "reporter": report.reporter, "choices": Report.Answer.choices}
            for name, report in self.reports.items()
        ]

    def arguments(self) -> dict[str, Any]:
        data = self.cleaned_data
        answers = {report.pk: data[name] for name, report in self.reports.items()}
        return {"reason": data["reason"], "answers": answers}


class VerificationDecisionForm(forms.Form):
    decision = forms.ChoiceField(choices=[("approve", "Approve"), ("decline", "Decline")])
    reason = forms.CharField(required=False, max_length=MAX_REASON_CHARS)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if data.get("decision") == "decline" and not data.get("reason"):
            self.add_error("reason", "Give a reason, which the user will see.")
        return data


class NoteForm(forms.Form):
    text = forms.CharField(max_length=MAX_TEXT_CHARS)


class ReadForm(ReasonForm):
    before = forms.CharField(required=False)

    def clean_before(self) -> str:
        before: str = self.cleaned_data["before"]
        if before and not is_id("msg", before):
            raise forms.ValidationError(NOT_A_MESSAGE)
        return before


class CaseActionForm(ReasonForm):
    name = forms.ChoiceField(choices=[(name, name) for name in CASE_ACTIONS])
    target = forms.CharField(required=False)
    text = forms.CharField(required=False, max_length=MAX_TEXT_CHARS, strip=False)
    days = forms.IntegerField(required=False, min_value=1, max_value=MAX_MUTE_DAYS)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        name, target = data.get("name", ""), data.get("target", "")
        if name.startswith("message.") and not is_id("msg", target):
            self.add_error("target", NOT_A_MESSAGE)
        if name.startswith(f"{PERSON}.") and not is_id("usr", target):
            self.add_error("target", "Not a person.")
        if name.startswith(f"{CARD}.") and not is_id("card", target):
            self.add_error("target", "Not a card.")
        for field, action in (("text", "message.redact"), ("days", "person.mute")):
            if name == action and not data.get(field):
                self.add_error(field, "This field is required.")
        return data

    def arguments(self) -> dict[str, Any]:
        data = self.cleaned_data
        extra = {
            "message.redact": {"text": data["text"]},
            "person.mute": {"days": data["days"]},
        }.get(data["name"], {})
        return {key: data[key] for key in ("name", "target", "reason")} | extra
