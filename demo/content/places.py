"""Draws places for the moodboards of the demo, at twice their size like pictures.py."""

from collections.abc import Callable
from random import Random

from PIL import Image, ImageDraw, ImageFilter

Place = Callable[[Random], Image.Image]


def _sky(width: int, height: int, top: str, bottom: str) -> Image.Image:
    size = (width, height)
    shade = Image.linear_gradient("L").resize(size)
    return Image.composite(Image.new("RGB", size, bottom), Image.new("RGB", size, top), shade)


def _yellow_wall(rng: Random) -> Image.Image:
    """A wall that was painted many times, with a green door and its shadow."""
    image = _sky(1600, 2000, "#e8bf55", "#d29a3a")
    patches = Image.new("L", (100, 125), 0)
    pen = ImageDraw.Draw(patches)
    for _ in range(40):
        x, y = rng.randint(0, 100), rng.randint(0, 125)
        pen.ellipse((x, y, x + rng.randint(4, 24), y + rng.randint(3, 14)), fill=90)
    mask = patches.filter(ImageFilter.GaussianBlur(2)).resize(image.size)
    image.paste(Image.new("RGB", image.size, "#f1d488"), mask=mask)
    pen = ImageDraw.Draw(image)
    pen.rectangle((0, 1780, 1600, 2000), fill="#8d8577")
    pen.polygon([(560, 1780), (560, 640), (1120, 640), (1240, 1780)], fill="#b9852f")
    pen.rectangle((520, 620, 1040, 1780), fill="#efe3c8")
    pen.rectangle((570, 680, 990, 1780), fill="#2f5a4a")
    for row in range(3):
        pen.rectangle((630, 760 + row * 330, 930, 1010 + row * 330), outline="#24473a", width=14)
    pen.ellipse((930, 1240, 966, 1276), fill="#d8c08a")
    return image


def _tram_rails(rng: Random) -> Image.Image:
    """Rails between cobblestones, seen from close to the ground."""
    image = _sky(2000, 1600, "#cfd6d8", "#a7a39a")
    pen = ImageDraw.Draw(image)
    pen.rectangle((0, 560, 2000, 1600), fill="#77736b")
    for row in range(26):
        y = 560 + row * row * 1.6
        tall, wide = 8 + row * 3.2, 40 + row * 9
        for column in range(-30, 31):
            x = 1000 + (column + row % 2 / 2) * wide
            tone = rng.randint(96, 150)
            stone = (x, y, x + wide * 0.9, y + tall * 0.8)
            pen.rounded_rectangle(stone, 4, fill=(tone, tone - 4, tone - 12))
    for side in (-1, 1):
        near, far = 1000 + side * 620, 1000 + side * 40
        rail = [(far, 560), (far + 10, 560), (near + 60, 1600), (near - 60, 1600)]
        pen.polygon(rail, fill="#4b4a47")
        pen.line([(far + 5, 560), (near, 1600)], fill="#e9edef", width=16)
    for number, x in enumerate(range(-80, 2000, 320)):
        top = 120 + rng.randint(0, 160)
        colour = ["#d9c9a8", "#c98f6a", "#e3d9c4", "#b7c0b4"][number % 4]
        pen.rectangle((x, top, x + 330, 560), fill=colour)
        for window in range(3):
            left = x + 40 + window * 95
            pen.rectangle((left, top + 60, left + 50, top + 150), fill="#5d6468")
    return image


def _hillside(rng: Random) -> Image.Image:
    """A field on a hill before sunset."""
    image = _sky(2000, 1500, "#f6d9b0", "#e7a06f")
    pen = ImageDraw.Draw(image)
    pen.ellipse((1380, 380, 1600, 600), fill="#fff3d8")
    for number, colour in enumerate(["#8f8f86", "#6f7d68", "#58693f", "#6f8145"]):
        base = 720 + number * 190
        ridge = [
            (x, base + rng.randint(-50, 50) - x * (number % 2) / 12) for x in range(0, 2100, 100)
        ]
        pen.polygon([*ridge, (2000, 1500), (0, 1500)], fill=colour)
    for _ in range(700):
        x, y = rng.randint(0, 2000), rng.randint(1300, 1500)
        pen.line((x, y, x + rng.randint(-8, 8), y - rng.randint(20, 70)), fill="#8c9c58", width=4)
    return image


def _lanterns(rng: Random) -> Image.Image:
    """Strings of lights over a long table at night."""
    image = _sky(2000, 1500, "#1f2a3c", "#3b3430")
    glow = Image.new("L", (500, 375), 0)
    bulbs = [
        (100 + step * 82, 220 + row * 130 + abs(step - 11) ** 2 * -1.4 + 160)
        for row in range(3)
        for step in range(23)
    ]
    pen = ImageDraw.Draw(glow)
    for x, y in bulbs:
        pen.ellipse((x / 4 - 9, y / 4 - 9, x / 4 + 9, y / 4 + 9), fill=150)
    mask = glow.filter(ImageFilter.GaussianBlur(7)).resize(image.size)
    image.paste(Image.new("RGB", image.size, "#ffcf7d"), mask=mask)
    pen = ImageDraw.Draw(image)
    for row in range(3):
        pen.line(bulbs[row * 23 : row * 23 + 23], fill="#14171c", width=4, joint="curve")
    for x, y in bulbs:
        pen.ellipse((x - 12, y - 8, x + 12, y + 22), fill="#fff0c4")
    pen.polygon([(300, 1500), (840, 1010), (1160, 1010), (1700, 1500)], fill="#e9e1d1")
    for step in range(14):
        x = 860 + rng.randint(0, 280)
        pen.ellipse((x, 1040 + step * 30, x + 26 + step * 2, 1062 + step * 31), fill="#c7b48f")
    return image


PLACES: dict[str, Place] = {
    "yellow-wall": _yellow_wall,
    "tram-rails": _tram_rails,
    "hillside": _hillside,
    "lanterns": _lanterns,
}
