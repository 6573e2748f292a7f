"""Draws the photos of the demo users: simple portraits, so that no photos have to be licensed."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from PIL import Image, ImageDraw, ImageFilter

SIDE = 1280
OUTPUT_SIDE = 640
# The part of the drawing that is shown.
FRAME = (140, 130, 1140, 1130)
INK = "#2a211c"

Pen = ImageDraw.ImageDraw


@dataclass(frozen=True)
class Look:
    wall: tuple[str, str]
    skin: str
    hair: str
    clothes: str
    style: str = "short"
    glasses: bool = False
    beard: bool = False


LOOKS = {
    "mara": Look(("#dfe5da", "#b9c7b4"), "#efcdb4", "#c9a063", "#2f4b41", "bob"),
    "tomas": Look(("#e9dcc8", "#cdb493"), "#d9ac86", "#3a2a20", "#3d4a55", "short", beard=True),
    "yui": Look(("#f0e1dc", "#d9b9b2"), "#f0cfae", "#1d1a1a", "#8c3f3a", "bob", glasses=True),
    "layla": Look(("#dbe4e8", "#a9bfc9"), "#d7a983", "#2a6a6d", "#2a6a6d", "scarf"),
    "samir": Look(("#e6e0d2", "#bfae8f"), "#c08b62", "#211a16", "#6b7a52", "curly", beard=True),
    "priya": Look(("#eadbe0", "#c9a6b3"), "#b9825a", "#1c1514", "#c77d3a", "long"),
    "jonas": Look(("#dde3e6", "#a8b6bd"), "#f0d0b8", "#b98d5a", "#27425c", "short", glasses=True),
    "aoife": Look(("#e4ead9", "#b7c59b"), "#f5d9c5", "#a8512b", "#3f5d3c", "long"),
    "kwame": Look(("#f0e4cf", "#d7b982"), "#7d5236", "#16110e", "#b5482f", "curly"),
    "genevieve": Look(("#e2dce8", "#b3a6c4"), "#ecc9b0", "#8b8683", "#4a3a5a", "bun", glasses=True),
    "renata": Look(("#e9e0d6", "#c6a98e"), "#c99a72", "#3b2418", "#1f5a5e", "curly"),
    "ximena": Look(("#f1dfd0", "#dba98a"), "#c68f68", "#231712", "#7c2f4c", "bun"),
    "ines": Look(("#e3e8e6", "#aebfbb"), "#dcae8b", "#4a2f22", "#9a4b3b", "long"),
    "henrik": Look(("#dfe3e8", "#a9b3c2"), "#f2d6c0", "#cdb07c", "#3b4a3f", "short", beard=True),
    "noor": Look(("#ece3d6", "#cbb596"), "#cf9d77", "#2b1d17", "#3f4f6b", "bob"),
    "chiara": Look(("#f0dfe2", "#d3a9b2"), "#eac4a6", "#5a3422", "#22262b", "bun"),
    "lukas": Look(("#e0e6dc", "#aebda4"), "#efcbb0", "#6b4a2f", "#5a3d33", "curly"),
    "amara": Look(("#efe2cf", "#d3b184"), "#6e4630", "#120e0c", "#d2a23c", "bun"),
    "elif": Look(("#e1e3ee", "#adb1cc"), "#e3b895", "#2a1c18", "#5b4a86", "bob", glasses=True),
    "sofia": Look(("#f0e5d8", "#d8b898"), "#d6a47e", "#33211a", "#2e5f52", "long"),
    "kenji": Look(("#dfe6e8", "#a8bcc0"), "#e8c4a0", "#1a1817", "#343b44", "short", glasses=True),
    "anouk": Look(("#e8ebdd", "#bcc7a2"), "#f3d5c2", "#8a4a2c", "#a9586a", "curly"),
}


@cache
def draw_portrait(key: str) -> bytes:
    """The JPEG of a demo user; always the same bytes."""
    look = LOOKS[key]
    picture = _wall(look)
    pen = ImageDraw.Draw(picture)
    _HAIR_BEHIND.get(look.style, _nothing)(pen, look)
    _body(pen, look)
    _face(pen, look)
    _HAIR_IN_FRONT[look.style](pen, look)
    if look.glasses:
        _glasses(pen)
    out = io.BytesIO()
    close = picture.crop(FRAME)
    small = close.resize((OUTPUT_SIDE, OUTPUT_SIDE), Image.Resampling.LANCZOS)
    small.save(out, "JPEG", quality=88)
    return out.getvalue()


def _wall(look: Look) -> Image.Image:
    """A wall with soft light from the upper left."""
    light = Image.radial_gradient("L").resize((SIDE * 2, SIDE * 2)).crop((420, 520, 1700, 1800))
    bright, dark = (Image.new("RGB", (SIDE, SIDE), colour) for colour in look.wall)
    return Image.composite(dark, bright, light).filter(ImageFilter.GaussianBlur(8))


def _shade(colour: str, part: float) -> tuple[int, int, int]:
    """Darker than the colour by a part."""
    values = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    red, green, blue = (int(value * (1 - part)) for value in values)
    return red, green, blue


def _body(pen: Pen, look: Look) -> None:
    pen.ellipse((190, 960, 1090, 1900), fill=look.clothes)
    pen.rounded_rectangle((545, 760, 735, 1060), 90, fill=_shade(look.skin, 0.14))
    pen.polygon([(520, 985), (640, 1130), (760, 985)], fill=_shade(look.skin, 0.06))
    pen.line([(505, 975), (640, 1140), (775, 975)], fill=_shade(look.clothes, 0.25), width=22)


def _face(pen: Pen, look: Look) -> None:
    for x in (408, 800):
        pen.ellipse((x, 560, x + 72, 680), fill=_shade(look.skin, 0.08))
    pen.rounded_rectangle((432, 330, 848, 880), 205, fill=look.skin)
    if look.beard:
        _beard(pen, look)
    brows = INK if look.style == "scarf" else _shade(look.hair, 0.2)
    for x in (540, 740):
        pen.ellipse((x - 17, 588, x + 17, 626), fill=INK)
        pen.arc((x - 50, 510, x + 50, 590), 205, 335, fill=brows, width=15)
    pen.arc((606, 600, 674, 716), 40, 140, fill=_shade(look.skin, 0.28), width=11)
    pen.arc((560, 690, 720, 800), 25, 155, fill=_shade("#a5483c", 0.1), width=14)


def _beard(pen: Pen, look: Look) -> None:
    pen.rounded_rectangle((432, 640, 848, 890), 200, fill=look.hair)
    pen.rounded_rectangle((486, 560, 794, 745), 70, fill=look.skin)


def _glasses(pen: Pen) -> None:
    for x in (540, 740):
        pen.ellipse((x - 78, 530, x + 78, 686), outline=INK, width=13)
    pen.line((618, 600, 662, 600), fill=INK, width=13)


# --- Hair


def _nothing(pen: Pen, look: Look) -> None:
    """Nothing behind the head."""


def _cap(pen: Pen, look: Look, down: int) -> None:
    """Hair above the forehead, with a parting at the side."""
    pen.pieslice((424, 285, 856, 285 + 2 * (down - 285)), 180, 360, fill=look.hair)
    for x, way in ((424, 1), (856, -1)):
        tip = (x + way * 150, down - 4)
        pen.polygon([(x, down - 4), tip, (x + way * 46, down + 80), (x, down + 96)], fill=look.hair)


def _short(pen: Pen, look: Look) -> None:
    _cap(pen, look, 470)


def _long_behind(pen: Pen, look: Look) -> None:
    pen.rounded_rectangle((370, 300, 910, 1180), 240, fill=_shade(look.hair, 0.15))


def _bob_behind(pen: Pen, look: Look) -> None:
    pen.rounded_rectangle((372, 290, 908, 900), 220, fill=_shade(look.hair, 0.12))


def _fringe(pen: Pen, look: Look) -> None:
    pen.pieslice((395, 270, 885, 700), 180, 360, fill=look.hair)
    pen.polygon([(395, 480), (470, 480), (440, 760), (385, 780)], fill=look.hair)
    pen.polygon([(885, 480), (810, 480), (840, 760), (895, 780)], fill=look.hair)


def _curls(pen: Pen, look: Look) -> None:
    spots = [(430, 470), (445, 385), (510, 310), (600, 275), (690, 275), (770, 315), (835, 385)]
    for x, y in [*spots, (850, 470), (560, 370), (640, 345), (720, 370)]:
        pen.ellipse((x - 82, y - 82, x + 82, y + 82), fill=look.hair)


def _bun_behind(pen: Pen, look: Look) -> None:
    pen.ellipse((525, 150, 755, 380), fill=_shade(look.hair, 0.15))


def _scarf_behind(pen: Pen, look: Look) -> None:
    pen.rounded_rectangle((352, 250, 928, 1160), 280, fill=_shade(look.hair, 0.18))


def _scarf(pen: Pen, look: Look) -> None:
    """Around the face, over the hair and the neck."""
    pen.rounded_rectangle((470, 900, 810, 1180), 60, fill=look.hair)
    pen.arc((380, 270, 900, 960), 0, 360, fill=look.hair, width=92)
    for down in (0, 70):
        box = (400, 600 + down, 880, 1030 + down)
        pen.arc(box, 35, 145, fill=_shade(look.hair, 0.25), width=14)


_HAIR_BEHIND: dict[str, Callable[[Pen, Look], None]] = {
    "long": _long_behind,
    "bob": _bob_behind,
    "bun": _bun_behind,
    "scarf": _scarf_behind,
}
_HAIR_IN_FRONT: dict[str, Callable[[Pen, Look], None]] = {
    "short": _short,
    "long": _fringe,
    "bob": _fringe,
    "curly": _curls,
    "bun": _short,
    "scarf": _scarf,
}
