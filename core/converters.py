"""Path converters for ids, so that a malformed id in a URL is a 404."""

from django.urls import register_converter

from core.ids import ULID_PATTERN


class _Id:
    prefix: str

    def __init_subclass__(cls) -> None:
        cls.regex = f"{cls.prefix}_{ULID_PATTERN}"

    regex: str

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class ThreadId(_Id):
    prefix = "thrd"


class MessageId(_Id):
    prefix = "msg"


class ExportId(_Id):
    prefix = "exp"


class OfferId(_Id):
    prefix = "ofr"


class CardId(_Id):
    prefix = "card"


class LegId(_Id):
    prefix = "leg"


class GroupId(_Id):
    prefix = "lbg"


class ContractId(_Id):
    prefix = "ctr"


class ReceiptId(_Id):
    prefix = "rcp"


class ManifestId(_Id):
    prefix = "mft"


class FileId(_Id):
    prefix = "file"


class BlockId(_Id):
    prefix = "blk"


class FeedId(_Id):
    prefix = "cal"


class OnOrOff:
    regex = "on|off"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(ThreadId, "thread")
register_converter(MessageId, "message")
register_converter(ExportId, "export")
register_converter(OfferId, "offer")
register_converter(CardId, "card")
register_converter(LegId, "leg")
register_converter(GroupId, "group")
register_converter(ContractId, "contract")
register_converter(ReceiptId, "receipt")
register_converter(ManifestId, "manifest")
register_converter(FileId, "file")
register_converter(BlockId, "time_block")
register_converter(FeedId, "calendar_feed")
register_converter(OnOrOff, "on_or_off")
