"""Draws images for demo conversations, so that no photos have to be licensed or shipped."""

import io
from collections.abc import Callable
from functools import cache
from random import Random

from PIL import Image, ImageChops, ImageDraw, ImageFilter

from demo.content.places import PLACES

# Drawn larger and scaled down, for smooth edges.
SCALE = 2


@cache
def draw(name: str) -> bytes:
    """The JPEG of that name; always the same bytes."""
    return encode(PICTURES[name](Random(name)))


def encode(picture: Image.Image) -> bytes:
    out = io.BytesIO()
    size = (picture.width // SCALE, picture.height // SCALE)
    _grained(picture.resize(size, Image.Resampling.LANCZOS)).save(out, "JPEG", quality=88)
    return out.getvalue()


def _grained(picture: Image.Image) -> Image.Image:
    """Adds film grain, so that the image looks less like a drawing."""
    noise = Image.effect_noise(picture.size, 14).convert("RGB")
    return ImageChops.overlay(
        picture, Image.blend(Image.new("RGB", picture.size, "#808080"), noise, 0.35)
    )


def canvas(
    width: int, height: int, top: str, bottom: str
) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    size = (width * SCALE, height * SCALE)
    shade = Image.linear_gradient("L").resize(size)
    picture = Image.composite(Image.new("RGB", size, bottom), Image.new("RGB", size, top), shade)
    return picture, ImageDraw.Draw(picture)


def shadow(picture: Image.Image, *boxes: tuple[float, float, float, float]) -> None:
    # Drawn small, because it is blurred anyway.
    small = Image.new("L", (picture.width // 8, picture.height // 8), 0)
    pen = ImageDraw.Draw(small)
    for box in boxes:
        pen.ellipse([value / 8 for value in box], fill=120)
    dark = small.filter(ImageFilter.GaussianBlur(3)).resize(picture.size)
    picture.paste(Image.new("RGB", picture.size, "#2a2520"), mask=dark)


def _column(picture: Image.Image, x: int, ground: int, wide: int, tall: int, colour: str) -> None:
    """A plinth: a standing cylinder lit from the left."""
    shadow(picture, (x - wide * 0.2, ground - wide * 0.2, x + wide * 1.7, ground + wide * 0.28))
    light = Image.linear_gradient("L").rotate(90).resize((wide, tall + wide // 2))
    body = Image.composite(
        Image.new("RGB", light.size, colour),
        Image.blend(
            Image.new("RGB", light.size, colour), Image.new("RGB", light.size, "#1c1a17"), 0.55
        ),
        light,
    )
    mask = Image.new("L", light.size, 0)
    pen = ImageDraw.Draw(mask)
    ring = wide // 4
    pen.rectangle((0, ring // 2, wide, tall), fill=255)
    pen.ellipse((0, tall - ring // 2, wide, tall + ring // 2), fill=255)
    picture.paste(body, (x, ground - tall), mask)
    lid = Image.blend(Image.new("RGB", (1, 1), colour), Image.new("RGB", (1, 1), "white"), 0.28)
    top = (x, ground - tall, x + wide, ground - tall + ring)
    ImageDraw.Draw(picture).ellipse(top, fill=lid.getpixel((0, 0)))


def _plinths(colours: list[str]) -> Callable[[Random], Image.Image]:
    def picture(rng: Random) -> Image.Image:
        image, pen = canvas(1200, 900, "#e9e2d4", "#cfc4b1")
        pen.rectangle((0, 1240, 2400, 1800), fill="#b9ab95")
        for number, colour in enumerate(colours):
            x = 220 + number * 2000 // len(colours)
            _column(
                image,
                x,
                1420 + rng.randint(-30, 60),
                rng.choice([260, 300, 340]),
                rng.choice([380, 560, 720]),
                colour,
            )
        return image

    return picture


def _hairline(rng: Random) -> Image.Image:
    image, _ = canvas(800, 1000, "#8d9a86", "#6d7a68")
    _column(image, 240, 2060, 1120, 1640, "#93a08c")
    points, x = [], 930.0
    for y in range(560, 1180, 18):
        x += rng.uniform(-16, 12)
        points.append((x, y))
    ImageDraw.Draw(image).line(points, fill="#2d332b", width=5, joint="curve")
    return image


def _route(rng: Random) -> Image.Image:
    """A hand-drawn map."""
    image, pen = canvas(1200, 900, "#f5efe2", "#efe6d4")
    pen.polygon(
        [(0, 1500), (700, 1400), (1500, 1560), (2400, 1420), (2400, 1800), (0, 1800)],
        fill="#a9c2c4",
    )
    for _ in range(46):
        x, y = rng.randint(60, 2300), rng.randint(60, 1300)
        wide, tall = rng.randint(70, 220), rng.randint(60, 170)
        pen.rounded_rectangle(
            (x, y, x + wide, y + tall), 10, fill=rng.choice(["#e6d9c0", "#e2d3b6", "#ddd0b8"])
        )
    stops = [(330, 300), (720, 520), (980, 380), (1340, 720), (1700, 980), (2040, 1420)]
    pen.line(stops, fill="#245b48", width=16, joint="curve")
    for x, y in stops:
        pen.ellipse((x - 34, y - 34, x + 34, y + 34), fill="#f5efe2", outline="#245b48", width=14)
    return image


def _palette(rng: Random) -> Image.Image:
    """46 leather samples, from pale to dark."""
    image, pen = canvas(1400, 800, "#efe9de", "#e4dccd")
    places = [(130 + n % 12 * 212, 120 + n // 12 * 356) for n in range(46)]
    shadow(image, *((x + 10, y + 200, x + 190, y + 320) for x, y in places))
    for number in range(46):
        part = number / 45
        by = rng.randint(-16, 16)
        tone = (int(230 - 190 * part) + by, int(208 - 180 * part) + by, int(178 - 152 * part) + by)
        x, y = places[number]
        pen.rounded_rectangle((x, y, x + 184, y + 290), 8, fill=tone)
    return image


def _black_water(rng: Random) -> Image.Image:
    image, pen = canvas(1000, 1250, "#3b3a38", "#131312")
    for ring in range(7):
        wide = 260 + ring * 190
        light = 96 - ring * 10
        pen.ellipse(
            (1000 - wide, 1500 - wide * 0.3, 1000 + wide, 1500 + wide * 0.3),
            outline=(light, light, light - 4),
            width=4,
        )
    heel = [
        (620, 1180),
        (700, 940),
        (1000, 900),
        (1240, 1010),
        (1500, 1110),
        (1560, 1200),
        (1540, 1240),
        (640, 1240),
    ]
    pen.polygon(heel, fill="#7a4a2c")
    pen.line(heel[1:6], fill="#a66a42", width=18, joint="curve")
    pen.rectangle((640, 1240, 1540, 1266), fill="#d8c3a0")
    mirrored = image.crop((560, 880, 1620, 1270)).transpose(Image.Transpose.FLIP_TOP_BOTTOM)
    faded = Image.blend(Image.new("RGB", mirrored.size, "#171716"), mirrored, 0.4)
    image.paste(faded.filter(ImageFilter.GaussianBlur(7)), (560, 1274))
    return image


def _sketch(turn: int) -> Callable[[Random], Image.Image]:
    def picture(rng: Random) -> Image.Image:
        image, pen = canvas(740, 1050, "#fbf7ee", "#f5efe1")
        for row in range(3):
            y = 180 + row * 620
            pen.rounded_rectangle((160, y, 1320, y + 520), 14, outline="#33302b", width=7)
            window = 260 + (row * 320 if turn else 320)
            pen.rectangle((window, y + 70, window + 170, y + 250), outline="#33302b", width=6)
            pen.rectangle((window + 8, y + 78, window + 162, y + 242), fill="#f0dcc4")
            _boot(pen, 640 + rng.randint(-60, 160), y + 420, "#9c4a2a" if row == 1 else "#fbf7ee")
        return image

    return picture


def _boot(pen: ImageDraw.ImageDraw, x: int, y: int, fill: str) -> None:
    outline = [
        (x, y),
        (x, y - 220),
        (x + 130, y - 220),
        (x + 150, y - 110),
        (x + 330, y - 60),
        (x + 350, y),
    ]
    pen.polygon(outline, fill=fill, outline="#33302b", width=8)
    for lace in range(4):
        pen.line(
            (x + 96, y - 200 + lace * 32, x + 150 + lace * 8, y - 180 + lace * 32),
            fill="#33302b",
            width=6,
        )


def _frame_118(rng: Random) -> Image.Image:
    """A ramp in evening light and a skater in the air."""
    image, pen = canvas(1200, 800, "#f2b880", "#7d8d9c")
    pen.ellipse((1650, 250, 1930, 530), fill="#fff0cf")
    pen.rectangle((0, 980, 2400, 1600), fill="#50667a")
    for _ in range(120):
        x, y = rng.randint(0, 2400), rng.randint(1000, 1580)
        pen.line(
            (x, y, x + rng.randint(30, 160), y),
            fill=rng.choice(["#7f93a4", "#d8b792", "#62788b"]),
            width=4,
        )
    pen.polygon([(0, 1600), (0, 900), (1500, 1240), (1900, 1600)], fill="#3a3c3d")
    for ring in range(5):
        pen.line((ring * 300, 950 + ring * 70, ring * 300 + 40, 1600), fill="#2c2e2f", width=8)
    x, y, ink = 980, 640, "#1b1b1d"
    pen.ellipse((x - 46, y - 210, x + 46, y - 110), fill=ink)
    pen.line((x, y - 110, x + 30, y + 130), fill=ink, width=78)
    for ends in (((x, y - 70), (x - 250, y - 250)), ((x, y - 60), (x + 210, y + 30))):
        pen.line(ends, fill=ink, width=34)
    pen.line(
        (x + 30, y + 120, x - 130, y + 270, x - 90, y + 400), fill=ink, width=44, joint="curve"
    )
    pen.line(
        (x + 30, y + 120, x + 210, y + 230, x + 320, y + 160), fill=ink, width=44, joint="curve"
    )
    shadow(image, (x - 260, 1180, x + 340, 1290))
    return image


PICTURES: dict[str, Callable[[Random], Image.Image]] = {
    "plinths": _plinths(["#c9b79c", "#b8a78d", "#9aa793", "#c4b299", "#a89880"]),
    "plinths-green": _plinths(["#7f927c", "#8ea08a"]),
    "hairline": _hairline,
    "route": _route,
    "palette": _palette,
    "black-water": _black_water,
    "sketch-a": _sketch(0),
    "sketch-b": _sketch(1),
    "frame-118": _frame_118,
    **PLACES,
}
