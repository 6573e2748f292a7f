from django.contrib.admin.apps import AdminConfig


class StaffConfig(AdminConfig):
    """Django's admin, on a site of our own."""

    default = False
    default_site = "accounts.sign_in.staff_site.StaffSite"
