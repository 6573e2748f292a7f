"""The admin pages of staff, found by Django under this name."""

from typing import cast

from django.contrib import admin

from accounts.sign_in.staff_site import StaffSite
from moderation.admin.audit import AuditAdmin
from moderation.admin.cases import CaseAdmin
from moderation.admin.verification import VerificationRequestAdmin
from moderation.desk import desk_section

__all__ = ["AuditAdmin", "CaseAdmin", "VerificationRequestAdmin"]

cast(StaffSite, admin.site).index_sections.append(desk_section)
