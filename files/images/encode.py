"""The program that re-encodes images. The worker starts it: `python -m files.images.encode`.

It uses nothing else of this project. It gets a path and a format, checks the size before decoding,
and writes new images without metadata or anything else that the file contained.
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
FULL_SIDE, THUMB_SIDE, BLUR_SIDE = 2560, 720, 24
SRGB = ImageCms.createProfile("sRGB")


def handle(request: dict[str, Any]) -> dict[str, Any]:
    try:
        return _reencode(request)
    except MemoryError:
        return {"refused": "too_large"}
    except Exception as error:  # Decoders raise all kinds of exceptions.
        return {"refused": "damaged", "why": f"{type(error).__name__}"}


def _reencode(request: dict[str, Any]) -> dict[str, Any]:
    # `_check_size` applies our own limits before anything is decoded.
    Image.MAX_IMAGE_PIXELS = None
    format_ = request["format"]
    if format_ == "HEIF":
        _register_heif()
    with Image.open(request["path"], formats=[format_]) as image:
        refused = _check_size(image.size, request)
        if refused:
            return {"refused": refused}
        image.draft("RGB", (FULL_SIDE, FULL_SIDE))
        picture = _normalise(image)
    return _save_all(picture, request)


def _check_size(size: tuple[int, int], request: dict[str, Any]) -> str:
    """The reason not to decode an image of this size in this worker, or an empty string."""
    megapixels = size[0] * size[1] / 1_000_000
    if max(size) > request["most_pixels"] or min(size) < 1:
        return "too_large"
    # A JPEG is decoded at a fraction of its size.
    if request["format"] != "JPEG" and megapixels > request["most_megapixels"]:
        return "too_many_megapixels"
    return "for_large_worker" if megapixels > request["small_megapixels"] else ""


def _register_heif() -> None:
    from pillow_heif import register_heif_opener

    register_heif_opener(thumbnails=False)


def _normalise(image: Image.Image) -> Image.Image:
    """Upright, in sRGB, eight bits; of an animation the first frame."""
    profile = image.info.get("icc_profile")
    # Scaled down first, so that the following steps are cheap for large images too.
    image.thumbnail((FULL_SIDE, FULL_SIDE), Image.Resampling.LANCZOS, reducing_gap=2.0)
    upright = ImageOps.exif_transpose(image)
    picture = upright.convert("RGBA" if upright.has_transparency_data else "RGB")
    if picture.mode == "RGBA" and picture.getchannel("A").getextrema()[0] == 255:
        picture = picture.convert("RGB")  # The alpha channel is opaque everywhere.
    return _in_srgb(picture, profile) if profile else picture


def _in_srgb(picture: Image.Image, profile: bytes) -> Image.Image:
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        converted = ImageCms.profileToProfile(picture, source, SRGB)
    except (ImageCms.PyCMSError, OSError, ValueError):
        return picture
    return converted or picture


def _save_all(picture: Image.Image, request: dict[str, Any]) -> dict[str, Any]:
    folder = Path(request["folder"])
    clean = Image.new(picture.mode, picture.size)
    clean.paste(picture)  # A new image has no metadata.
    for name, side in (("full", FULL_SIDE), ("thumb", THUMB_SIDE), ("blur", BLUR_SIDE)):
        copy = clean.copy()
        copy.thumbnail((side, side), Image.Resampling.LANCZOS)
        _save(copy, folder / name)
    for name in request.get("squares", ()):
        size = (int(name), int(name))
        method, centering = Image.Resampling.LANCZOS, request["centering"]
        _save(ImageOps.fit(clean, size, method, centering=centering), folder / name)
    content_type = "image/jpeg" if picture.mode == "RGB" else "image/webp"
    return {"width": picture.width, "height": picture.height, "content_type": content_type}


def _save(picture: Image.Image, path: Path) -> None:
    if picture.mode == "RGB":
        picture.save(path, "JPEG", quality=88, optimize=True, progressive=True)
    else:
        picture.save(path, "WEBP", quality=88)


def main() -> None:
    os.nice(int(sys.argv[1]))
    if sys.platform != "darwin":  # macOS does not support this limit.
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 20, 64 << 20))
    for line in sys.stdin:
        print(json.dumps(handle(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
