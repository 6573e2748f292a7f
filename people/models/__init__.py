"""What users show of themselves beyond their account."""

from people.models.directory import DirectoryCity, DirectoryEntry, DirectoryWord
from people.models.profiles import FirstContact, ServiceProfile

__all__ = ["DirectoryCity", "DirectoryEntry", "DirectoryWord", "FirstContact", "ServiceProfile"]
