"""Creates the stores and the conversations of the comparison, and prints them as JSON; a separate
process with the settings of the service."""

import json

from tests.bench.peers.server import CONVERSATIONS
from tests.bench.seed import create_pairs, create_stores, index_messages, thread_of


def main() -> None:
    create_stores()
    pairs = create_pairs(CONVERSATIONS, messages=5)
    index_messages()
    print(json.dumps([thread_of(pair) for pair in pairs]))


if __name__ == "__main__":
    main()
