"""The settings of the service with the channel layer that a test chooses."""

import json
import os

from messaging_site.settings import *  # noqa: F403

CHANNEL_LAYERS = {"default": json.loads(os.environ["PARLEY_TEST_CHANNEL_LAYER"])}
