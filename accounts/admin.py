"""Users and the outbox in the admin. Users can be found here, not added or deleted.

They are suspended under a case and verified on request, which is recorded.
"""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest

from accounts.models import User, add_profile_entry
from core.outbox import maintenance
from core.outbox.models import OutboxEntry

# Set here, because help texts on the model are part of migrations.
HELP_TEXTS = {
    "safe_mode": "Blurs suggestive photos and hides explicit ones.",
}
PERMISSION_FIELDS = ("is_staff", "is_superuser", "groups", "user_permissions")


@admin.register(User)
class UserAdmin(admin.ModelAdmin):
    list_display = ("handle", "display_name", "email", "verified", "is_active", "date_joined")
    list_filter = ("is_active", "verified", "is_staff")
    search_fields = ("email", "handle", "display_name")
    ordering = ("-date_joined",)
    exclude = ("password",)
    filter_horizontal = ("groups", "user_permissions")
    readonly_fields = (
        *("id", "email", "avatar", "verified", "is_active", "muted_until"),
        *("date_joined", "last_login"),
    )

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        allowed = super().has_change_permission(request, obj)
        return allowed and (obj is None or not obj.is_superuser or request.user.is_superuser)

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> tuple[str, ...]:
        """Only superusers can change permissions, so that staff cannot extend their own."""
        return self.readonly_fields + (() if request.user.is_superuser else PERMISSION_FIELDS)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        field = super().formfield_for_dbfield(db_field, request, **options)
        if field is not None and db_field.name in HELP_TEXTS:
            field.help_text = HELP_TEXTS[db_field.name]
        return field

    def save_model(self, request: HttpRequest, obj: User, form: ModelForm, change: bool) -> None:
        super().save_model(request, obj, form, change)
        add_profile_entry(obj)


class OutboxStateFilter(admin.SimpleListFilter):
    title, parameter_name = "state", "state"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        return [("pending", "Pending"), ("dead", "Dead letters"), ("done", "Done")]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[OutboxEntry]
    ) -> QuerySet[OutboxEntry]:
        wanted = {
            "pending": {"done_at__isnull": True, "dead_at__isnull": True},
            "dead": {"dead_at__isnull": False},
            "done": {"done_at__isnull": False},
        }
        return queryset.filter(**wanted.get(self.value() or "", {}))


@admin.register(OutboxEntry)
class OutboxEntryAdmin(admin.ModelAdmin):
    """Does not show payloads: they may contain messages, which staff may read only under a case."""

    list_display = ("id", "kind", "state", "attempts", "last_error", "created_at", "due_at")
    list_filter = (OutboxStateFilter, "kind")
    ordering = ("-id",)
    # Counting all entries would take longer than rendering the page.
    show_full_result_count = False
    fields = readonly_fields = (
        *("kind", "ordering_key", "state", "attempts", "failures", "last_error"),
        *("created_at", "due_at", "claimed_until", "done_at", "dead_at"),
    )
    actions = ["retry"]

    @admin.display
    def state(self, entry: OutboxEntry) -> str:
        if entry.dead_at:
            return "dead letter"
        return "done" if entry.done_at else "pending"

    @admin.action(description="Retry", permissions=["retry"])
    def retry(self, request: HttpRequest, entries: QuerySet[OutboxEntry]) -> None:
        count = maintenance.retry_dead_letters(entries)
        level = messages.SUCCESS if count else messages.WARNING
        self.message_user(request, f"{count} dead letters will be retried.", level)

    def has_retry_permission(self, request: HttpRequest) -> bool:
        return bool(getattr(request.user, "is_superuser", False))

    def has_view_permission(self, request: HttpRequest, obj: OutboxEntry | None = None) -> bool:
        return bool(getattr(request.user, "is_superuser", False))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: OutboxEntry | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: OutboxEntry | None = None) -> bool:
        return False
