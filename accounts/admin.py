"""People, for staff: to find and to verify. Nobody is added or deleted here, and nobody suspended:
that is done under a case, where it leaves a record."""

from django.contrib import admin
from django.forms import ModelForm
from django.http import HttpRequest

from accounts.models import OutboxEntry, User

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
        OutboxEntry.add_profile(obj)
