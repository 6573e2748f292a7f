"""The service with another way out: what it fetches, it gets from a server of the test alone."""

import os
import ssl
import sys

from files import fetching
from messaging_site.server import main
from tests.files.web import HOST, OUTSIDE


def rules() -> fetching.Rules:
    certificate = os.environ["PARLEY_TEST_CERTIFICATE"]
    return fetching.Rules(
        port=int(os.environ["PARLEY_TEST_WEB_PORT"]),
        resolve={HOST: [OUTSIDE]}.__getitem__,
        trust=lambda: ssl.create_default_context(cafile=certificate),
        exempt=frozenset({OUTSIDE}),
    )


if __name__ == "__main__":
    fetching.RULES = rules()
    sys.exit(main())
