"""The program that decodes pictures. The worker starts it: `python -m files.images.encode`.

It knows nothing of the service: it gets a path and a format, looks at the size before it decodes,
and leaves pictures made anew, in which nothing is left of what the file carried besides the image.
"""

import io
import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

from PIL import Image, ImageCms, ImageOps

MAX_MEMORY_BYTES = 2 << 30
FULL, THUMB, BLUR = 2560, 720, 24
SRGB = ImageCms.createProfile("sRGB")


def answer(question: dict[str, Any]) -> dict[str, Any]:
    try:
        return _reencode(question)
    except MemoryError:
        return {"refused": "too_large"}
    except Exception as error:  # Decoders raise whatever comes to their minds.
        return {"refused": "damaged", "why": f"{type(error).__name__}"}


def _reencode(question: dict[str, Any]) -> dict[str, Any]:
    # Sizes are judged by our own limits, below, and before anything is decoded.
    Image.MAX_IMAGE_PIXELS = None
    format_ = question["format"]
    if format_ == "HEIF":
        _learn_heif()
    with Image.open(question["path"], formats=[format_]) as image:
        refused = _judge_size(image.size, question)
        if refused:
            return {"refused": refused}
        image.draft("RGB", (FULL, FULL))
        picture = _plain(image)
    return _save_all(picture, Path(question["folder"]))


def _judge_size(size: tuple[int, int], question: dict[str, Any]) -> str:
    """Why a picture of this size is not decoded by this worker, or nothing."""
    megapixels = size[0] * size[1] / 1_000_000
    if max(size) > question["most_pixels"] or min(size) < 1:
        return "too_large"
    # A JPEG is decoded at a fraction of its size.
    if question["format"] != "JPEG" and megapixels > question["most_megapixels"]:
        return "too_many_megapixels"
    return "for_large_worker" if megapixels > question["small_megapixels"] else ""


def _learn_heif() -> None:
    from pillow_heif import register_heif_opener

    register_heif_opener(thumbnails=False)


def _plain(image: Image.Image) -> Image.Image:
    """Upright, in sRGB, eight bits; of something that moves the first picture."""
    profile = image.info.get("icc_profile")
    # Smaller first: what follows then costs little, however large the original is.
    image.thumbnail((FULL, FULL), Image.Resampling.LANCZOS, reducing_gap=2.0)
    upright = ImageOps.exif_transpose(image)
    picture = upright.convert("RGBA" if upright.has_transparency_data else "RGB")
    if picture.mode == "RGBA" and picture.getchannel("A").getextrema()[0] == 255:
        picture = picture.convert("RGB")  # It could be seen through, and nowhere is.
    return _in_srgb(picture, profile) if profile else picture


def _in_srgb(picture: Image.Image, profile: bytes) -> Image.Image:
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        converted = ImageCms.profileToProfile(picture, source, SRGB)
    except (ImageCms.PyCMSError, OSError, ValueError):
        return picture
    return converted or picture


def _save_all(picture: Image.Image, folder: Path) -> dict[str, Any]:
    is_opaque = picture.mode == "RGB"
    for name, side in (("full", FULL), ("thumb", THUMB), ("blur", BLUR)):
        copy = Image.new(picture.mode, picture.size)
        copy.paste(picture)  # A new picture carries nothing along.
        copy.thumbnail((side, side), Image.Resampling.LANCZOS)
        if is_opaque:
            copy.save(folder / name, "JPEG", quality=88, optimize=True, progressive=True)
        else:
            copy.save(folder / name, "WEBP", quality=88)
    content_type = "image/jpeg" if is_opaque else "image/webp"
    return {"width": picture.width, "height": picture.height, "content_type": content_type}


def main() -> None:
    os.nice(int(sys.argv[1]))
    if sys.platform != "darwin":  # It does not keep to it, and refuses to be told.
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 20, 64 << 20))
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
