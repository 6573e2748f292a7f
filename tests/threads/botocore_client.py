"""The store past all that is ours: AWS's own client, for what a test does to a table itself."""

from typing import Any

from botocore.session import get_session
from django.conf import settings


def botocore_client() -> Any:
    return get_session().create_client(
        "dynamodb",
        region_name=settings.DYNAMODB["region"],
        endpoint_url=settings.DYNAMODB["endpoint"],
    )
