from django.contrib.admin.apps import AdminConfig


class StaffConfig(AdminConfig):
    """Django's admin with our own AdminSite."""

    default = False
    default_site = "accounts.sign_in.staff_site.StaffSite"
