from tests.accounts.conftest import client, make_client, make_person, mara, tomas

__all__ = ["client", "make_client", "make_person", "mara", "tomas"]
