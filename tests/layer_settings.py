"""The service's settings on another channel layer, which a test names."""

import json
import os

from messaging_site.settings import *  # noqa: F403

CHANNEL_LAYERS = {"default": json.loads(os.environ["PARLEY_TEST_CHANNEL_LAYER"])}
