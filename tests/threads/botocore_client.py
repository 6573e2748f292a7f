"""AWS's own client, for tests that change a table without the product's client."""

from typing import Any

from botocore.session import get_session
from django.conf import settings


def botocore_client() -> Any:
    return get_session().create_client(
        "dynamodb",
        region_name=settings.DYNAMODB["region"],
        endpoint_url=settings.DYNAMODB["endpoint"],
    )
