"""What users offer, and how quickly they answer first messages."""

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q

from accounts.models import User
from contracts.currencies import CURRENCIES
from contracts.models.fields import MAX_CENTS
from people.crafts import CRAFT_MISSING, check_crafts
from people.languages import check_languages

UNITS = {"hour": "an hour", "day": "a day", "project": "a project"}


class ResponseTime(models.IntegerChoices):
    """Within which time a user answered at least half of their latest first messages."""

    UNKNOWN = 0, ""
    HOUR = 1, "Usually replies within an hour"
    HOURS = 2, "Usually replies within a few hours"
    DAY = 3, "Usually replies within a day"


class ServiceProfile(models.Model):
    """Crafts, languages and rates of a user. Sellers with the switch on are in the directory."""

    user = models.OneToOneField(
        User, models.CASCADE, primary_key=True, related_name="service_profile"
    )
    offers_services = models.BooleanField(default=False)
    crafts = models.JSONField(default=list, blank=True, validators=[check_crafts])
    languages = models.JSONField(default=list, blank=True, validators=[check_languages])
    # In the smallest unit of the currency, like all amounts.
    price_cents = models.BigIntegerField(null=True, blank=True)
    currency = models.CharField(max_length=3, blank=True)
    unit = models.CharField(max_length=10, blank=True)
    response_time = models.PositiveSmallIntegerField(
        choices=ResponseTime, default=ResponseTime.UNKNOWN, editable=False
    )
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(price_cents__isnull=True)
                | Q(price_cents__gt=0, price_cents__lte=MAX_CENTS),
                name="a_starting_price_is_an_amount",
            ),
            models.CheckConstraint(
                condition=Q(price_cents__isnull=True, currency="", unit="")
                | Q(price_cents__isnull=False, unit__in=tuple(UNITS)) & ~Q(currency=""),
                name="a_starting_price_has_currency_and_unit",
            ),
        ]

    def __str__(self) -> str:
        return self.user_id

    def clean(self) -> None:
        wrong = {}
        if self.offers_services and not self.crafts:
            wrong["crafts"] = CRAFT_MISSING
        if self.price_cents is not None and self.currency not in CURRENCIES:
            wrong["currency"] = "Choose a currency."
        if self.price_cents is not None and self.unit not in UNITS:
            wrong["unit"] = "Choose what the price is for."
        if wrong:
            raise ValidationError(wrong)


class FirstContact(models.Model):
    """A request that a user received, and when they accepted it. Declined ones are deleted."""

    thread_id = models.CharField(primary_key=True, max_length=31)
    recipient = models.ForeignKey(User, models.CASCADE, related_name="+", db_index=False)
    asked_at = models.DateTimeField()
    answered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["recipient", "-asked_at"], name="latest_first_contacts")]

    def __str__(self) -> str:
        return self.thread_id
