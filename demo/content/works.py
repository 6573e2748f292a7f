"""Draws further images for the portfolios of demo users."""

from collections.abc import Callable
from functools import cache
from math import cos, sin, tau
from random import Random

from PIL import Image

from demo.content.pictures import PICTURES, canvas, draw, encode, shadow


@cache
def draw_work(name: str) -> bytes:
    """The JPEG of that name; always the same bytes."""
    return draw(name) if name in PICTURES else encode(WORKS[name](Random(name)))


def _table(rng: Random) -> Image.Image:
    """Stoneware on linen, from above."""
    image, pen = canvas(1000, 800, "#e8e1d3", "#d8cdb9")
    for _ in range(260):
        x, y = rng.randint(0, 2000), rng.randint(0, 1600)
        pen.line((x, y, x + rng.randint(60, 260), y), fill="#dcd3c2", width=3)
    plates = [(560, 620, 380), (1360, 520, 290), (1240, 1150, 360), (420, 1260, 200)]
    for x, y, radius in plates:
        shadow(image, (x - radius, y - radius * 0.8, x + radius * 1.16, y + radius * 1.2))
        tone = rng.choice(["#8f9a8b", "#b7a58a", "#c9c2b4", "#6f7f86"])
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=tone)
        rim = int(radius * 0.8)
        pen.ellipse((x - rim, y - rim, x + rim, y + rim), outline="#5b5a52", width=6)
        for _ in range(40):
            turn, out = rng.random() * tau, rng.random() * rim
            dot_x, dot_y = x + cos(turn) * out, y + sin(turn) * out
            pen.ellipse((dot_x, dot_y, dot_x + 8, dot_y + 8), fill="#5b5a52")
    return image


def _lettering(rng: Random) -> Image.Image:
    """Broad strokes of a reed pen."""
    image, pen = canvas(1000, 760, "#fbf6ea", "#f3ead7")
    pen.rectangle((120, 120, 1880, 1400), outline="#1f3f4a", width=6)
    x = 320
    while x < 1640:
        tall, wide = rng.randint(180, 620), rng.randint(120, 260)
        pen.polygon(
            [(x, 1000), (x + 70, 940), (x + 90, 940 - tall), (x + 20, 1000 - tall)], "#1f3f4a"
        )
        pen.arc((x - 40, 860, x + wide, 1160), 0, 170, fill="#1f3f4a", width=54)
        if rng.random() < 0.6:
            dot = x + wide // 2
            pen.polygon([(dot, 1190), (dot + 34, 1224), (dot, 1258), (dot - 34, 1224)], "#b3552e")
        x += wide + 40
    return image


def _studio(rng: Random) -> Image.Image:
    """A room with tall windows and their light on the floor."""
    image, pen = canvas(1200, 800, "#dedbd4", "#c8c3b9")
    pen.polygon([(0, 1120), (2400, 1120), (2400, 1600), (0, 1600)], fill="#a3927b")
    for number in range(4):
        x = 180 + number * 540
        pen.rectangle((x, 180, x + 400, 980), fill="#f4f6f3")
        for row in range(1, 4):
            pen.line((x, 180 + row * 200, x + 400, 180 + row * 200), fill="#7d7a73", width=12)
        pen.line((x + 200, 180, x + 200, 980), fill="#7d7a73", width=12)
        pen.polygon([(x + 60, 1160), (x + 430, 1160), (x + 620, 1560), (x + 160, 1560)], "#c9b899")
    pen.line((1880, 1240, 1960, 560), fill="#2d2b29", width=14)
    pen.line((2060, 1240, 1960, 560), fill="#2d2b29", width=14)
    pen.polygon([(1780, 380), (2140, 380), (2060, 600), (1860, 600)], fill="#3a3835")
    return image


def _record(rng: Random) -> Image.Image:
    """The sleeve of a record: waves and a low sun."""
    image, pen = canvas(900, 900, "#e7a15a", "#c65f43")
    pen.ellipse((560, 420, 1240, 1100), fill="#f7e3b5")
    for row in range(9):
        y, points = 980 + row * 92, []
        for x in range(-60, 1920, 60):
            points.append((x, y + sin(x / 150 + row * 1.4) * 40 + rng.randint(-5, 5)))
        tone = ["#1f4e5f", "#2d6a73", "#183b4a"][row % 3]
        pen.polygon([*points, (1860, 1800), (-60, 1800)], fill=tone)
    return image


WORKS: dict[str, Callable[[Random], Image.Image]] = {
    "table": _table,
    "lettering": _lettering,
    "studio": _studio,
    "record": _record,
}
