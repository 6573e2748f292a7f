"""Billing details of a user, which are private and copied to receipts."""

from django.core.validators import MaxLengthValidator, RegexValidator
from django.db import models
from django.db.models import Q

from accounts.models import User

MAX_ADDRESS_CHARS = 300
# In hundredths of a percent.
MAX_TAX_RATE = 100_00


class BillingDetails(models.Model):
    user = models.OneToOneField(
        User, models.CASCADE, primary_key=True, related_name="billing_details"
    )
    name = models.CharField(max_length=120)
    address = models.TextField(validators=[MaxLengthValidator(MAX_ADDRESS_CHARS)])
    vat_id = models.CharField(
        max_length=20,
        blank=True,
        validators=[RegexValidator(r"^[0-9A-Z]{4,20}$", "Enter a valid VAT ID.")],
    )
    tax_rate = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "billing details"
        constraints = [
            models.CheckConstraint(
                condition=Q(tax_rate__isnull=True) | Q(tax_rate__lte=MAX_TAX_RATE),
                name="a_tax_rate_is_at_most_the_whole",
            )
        ]

    def __str__(self) -> str:
        return self.name
