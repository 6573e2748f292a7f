"""Staff roles: two groups with permissions, created after each migration."""

from typing import Any

from django.apps import AppConfig
from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group, Permission

WORK, RESTRICT = "moderation.work_case", "moderation.restrict"
ROLES = {
    "Support": ("view_case", "work_case"),
    "Trust and safety": ("view_case", "work_case", "restrict", "view_auditentry"),
}


def create_groups(sender: AppConfig, **_: Any) -> None:
    # Django would create the permissions only after this receiver.
    create_permissions(sender, verbosity=0)
    for name, codenames in ROLES.items():
        group, _created = Group.objects.get_or_create(name=name)
        allowed = Permission.objects.filter(
            content_type__app_label=sender.label, codename__in=codenames
        )
        group.permissions.add(*allowed)
