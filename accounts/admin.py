"""People, for staff: to find and to verify. Nobody is added or deleted here, and nobody suspended:
that is done under a case, where it leaves a record."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest

from accounts.models import User, add_profile_entry
from core.outbox import maintenance
from core.outbox.models import OutboxEntry

POWERS = ("is_staff", "is_superuser", "groups", "user_permissions")


@admin.register(User)
class UserAdmin(admin.ModelAdmin):
    list_display = ("handle", "display_name", "email", "verified", "is_active", "date_joined")
    list_filter = ("is_active", "verified", "is_staff")
    search_fields = ("email", "handle", "display_name")
    ordering = ("-date_joined",)
    exclude = ("password",)
    filter_horizontal = ("groups", "user_permissions")
    readonly_fields = ("id", "email", "is_active", "muted_until", "date_joined", "last_login")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        allowed = super().has_change_permission(request, obj)
        return allowed and (obj is None or not obj.is_superuser or request.user.is_superuser)

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> tuple[str, ...]:
        """Whoever may change people must not thereby become more than they are."""
        return self.readonly_fields + (() if request.user.is_superuser else POWERS)

    def save_model(self, request: HttpRequest, obj: User, form: ModelForm, change: bool) -> None:
        super().save_model(request, obj, form, change)
        add_profile_entry(obj)


class StateFilter(admin.SimpleListFilter):
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
    """Without the payload: it may hold what people wrote, which staff read under a case."""

    list_display = ("id", "kind", "state", "attempts", "last_error", "created_at", "due_at")
    list_filter = (StateFilter, "kind")
    ordering = ("-id",)
    # Counting all entries would cost more than the page.
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
