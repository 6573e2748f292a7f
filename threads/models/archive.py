from threads.models.table import Item


class ArchiveDue(Item):
    """This thread has messages of that day: the archiver's work list, so that it never scans."""

    pk_prefix, sk_prefix = "ARCHIVE#", "THR#"
