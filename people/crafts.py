"""The crafts that a seller can choose, by the key that is stored."""

from django.core.exceptions import ValidationError

MAX_CRAFTS = 5
CRAFT_MISSING = "Choose at least one craft, so that people can find you."

CRAFTS: dict[str, str] = {
    "art-director": "Art director",
    "calligrapher": "Calligrapher",
    "ceramicist": "Ceramicist",
    "choreographer": "Choreographer",
    "copywriter": "Copywriter",
    "creative-director": "Creative director",
    "designer": "Designer",
    "drone-operator": "Drone operator",
    "florist": "Florist",
    "food-stylist": "Food stylist",
    "hair-stylist": "Hair stylist",
    "illustrator": "Illustrator",
    "lighting-technician": "Lighting technician",
    "location-scout": "Location scout",
    "makeup-artist": "Make-up artist",
    "model": "Model",
    "motion-designer": "Motion designer",
    "musician": "Musician",
    "photo-assistant": "Photo assistant",
    "photographer": "Photographer",
    "producer": "Producer",
    "prop-stylist": "Prop stylist",
    "retoucher": "Retoucher",
    "set-designer": "Set designer",
    "sound-recordist": "Sound recordist",
    "studio": "Studio",
    "stylist": "Stylist",
    "video-editor": "Video editor",
    "videographer": "Videographer",
    "web-designer": "Web designer",
}


def check_crafts(crafts: list[str]) -> None:
    if len(crafts) > MAX_CRAFTS:
        raise ValidationError(f"Choose at most {MAX_CRAFTS} crafts.", code="max")
    if not set(crafts) <= CRAFTS.keys():
        raise ValidationError("Choose crafts from the list.", code="invalid_choice")
