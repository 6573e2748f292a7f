"""The processor time of the service by component, from samples of the thread that holds the GIL."""

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench import load
from tests.bench.deployment import Deployment

PY_SPY = Path(sys.executable).with_name("py-spy")
RATE = 250

# The innermost frame that matches one of these determines the component of a sample.
PARTS: dict[str, tuple[str, ...]] = {
    "storage client": ("pynamodb/", "botocore/", "urllib3/", "threads/models/", "http/client.py"),
    "channel layer": (
        "channels_redis/",
        "redis/",
        "realtime/broadcast/channel_layer.py",
        "realtime/broadcast/redis_bus.py",
    ),
    "rendering": (
        "threads/rendering/messages.py",
        "threads/rendering/markdown.py",
        "django/template/",
        "markdown_it/",
    ),
    "decoding": ("threads/forms.py", "django/forms/", "decode (realtime/sockets/frames.py"),
    "encoding": ("encode (realtime/sockets/frames.py",),
    "socket": ("autobahn/", "twisted/", "daphne/", "channels/", "messaging_site/"),
    "threads": ("asgiref/", "concurrent/futures/", "threading.py"),
    "rules": ("threads/", "realtime/", "accounts/"),
    "event loop": ("asyncio/", "selectors.py"),
}


def profile(deployment: Deployment, *, seconds: float, keep: Path | None) -> dict[str, float]:
    """The share of each component while twenty pairs exchange messages, one in flight each."""
    samples = deployment.folder / "profile.txt"
    command = [PY_SPY, "record", "--pid", str(deployment.service.pid), "--format", "raw", "--gil"]
    options = ["--rate", str(RATE), "--duration", str(int(seconds)), "--output", samples]
    samplers: list[subprocess.Popen[bytes]] = []

    def start_sampler() -> None:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        samplers.append(subprocess.Popen([*command, *options], **quiet))

    spec = {"port": deployment.port, "threads": deployment.seed_data["talking"], "in_flight": 1}
    load.run(
        deployment,
        "tests.bench.messaging_load",
        spec | {"seconds": seconds + 2},
        on_start=start_sampler,
    )
    samplers[0].wait(60)
    text = samples.read_text()
    if keep:
        keep.write_text(text)
    return shares(text, part_of)


def shares(text: str, name_of: Callable[[list[str]], str]) -> dict[str, float]:
    counts: Counter[str] = Counter()
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        counts[name_of(stack.split(";")[::-1])] += int(count)
    total = sum(counts.values()) or 1
    return {name: count / total for name, count in counts.most_common()}


def part_of(frames: list[str]) -> str:
    for frame in frames:
        for part, marks in PARTS.items():
            if any(_is_at(frame, mark) for mark in marks):
                return part
    return "other"


def _is_at(frame: str, mark: str) -> bool:
    if "(" in mark:
        return frame.startswith(mark)
    place = frame.rpartition("(")[2]
    return place.startswith(mark) or f"/{mark}" in place


def show(samples: Any) -> str:
    return ", ".join(f"{part} {share:.0%}" for part, share in samples.items())
