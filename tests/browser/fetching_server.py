"""The service with download rules that allow only the web server of the test."""

import os
import ssl
import sys

from core.http_client import download
from messaging_site.server.__main__ import main
from tests.files.fake_web import HOST, OUTSIDE


def make_rules() -> download.DownloadRules:
    certificate = os.environ["PARLEY_TEST_CERTIFICATE"]
    return download.DownloadRules(
        port=int(os.environ["PARLEY_TEST_WEB_PORT"]),
        resolve={HOST: [OUTSIDE]}.__getitem__,
        trust=lambda: ssl.create_default_context(cafile=certificate),
        exempt=frozenset({OUTSIDE}),
    )


if __name__ == "__main__":
    download.RULES = make_rules()
    sys.exit(main())
