"""What users show of themselves beyond their account."""

from people.models.directory import DirectoryCity, DirectoryEntry, DirectoryWord
from people.models.photos import Photo, PortfolioImage
from people.models.profiles import FirstContact, ServiceProfile
from people.models.verification import VerificationRequest, VerificationState

__all__ = [
    "DirectoryCity",
    "DirectoryEntry",
    "DirectoryWord",
    "FirstContact",
    "Photo",
    "PortfolioImage",
    "ServiceProfile",
    "VerificationRequest",
    "VerificationState",
]
