"""Reads the stored items from the engine by the keys of docs/data-model.md, without code of
the service, whose errors would otherwise go unnoticed."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import botocore.session
from botocore.config import Config

Item = dict[str, Any]
INDEXES = {"GSI1": "PARTICIPANT#{}", "GSI3": "PENDING#{}", "GSI4": "UNREAD#{}"}
FOLDERS = ("", "#requests", "#archived", "#spam")


@dataclass
class Stored:
    threads: dict[str, Item] = field(default_factory=dict)
    # In the order of their keys.
    messages: dict[str, list[Item]] = field(default_factory=dict)
    # By thread and user.
    participants: dict[tuple[str, str], Item] = field(default_factory=dict)
    # By thread, then by name.
    tabs: dict[str, dict[str, Item]] = field(default_factory=dict)
    # By index, thread and user: the rows that a query of the index returns.
    rows: dict[tuple[str, str, str], list[Item]] = field(default_factory=dict)


class Reader:
    def __init__(self, endpoint: str, table: str, credentials: dict[str, str]) -> None:
        self._table = table
        self._client = botocore.session.get_session().create_client(
            "dynamodb",
            region_name="eu-central-1",
            endpoint_url=endpoint,
            aws_access_key_id=credentials["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=credentials["AWS_SECRET_ACCESS_KEY"],
            config=Config(retries={"max_attempts": 5}, proxies={}),
        )

    def read(self, threads: Iterable[str], people: Iterable[str]) -> Stored:
        stored = Stored()
        for thread in threads:
            self._read_thread(stored, thread)
        for person in people:
            self._read_rows(stored, person)
        return stored

    def _read_thread(self, stored: Stored, thread: str) -> None:
        stored.messages[thread] = []
        for item in self._query("pk", f"THR#{thread}"):
            kind, _, rest = item["sk"].partition("#")
            if kind == "THR":
                stored.threads[thread] = item
            elif kind == "MSG":
                stored.messages[thread].append(item | {"id": item["sk"].rpartition("#")[2]})
            elif kind == "PART":
                stored.participants[thread, rest] = item
            elif kind == "TAB":
                stored.tabs.setdefault(thread, {})[rest] = item

    def _read_rows(self, stored: Stored, person: str) -> None:
        for index, key in INDEXES.items():
            for folder in FOLDERS if index == "GSI1" else [""]:
                for row in self._query(f"{index}PK", key.format(person) + folder, index):
                    place = (index, row["pk"].removeprefix("THR#"), person)
                    stored.rows.setdefault(place, []).append(row)

    def _query(self, key: str, value: str, index: str | None = None) -> Iterable[Item]:
        asked: dict[str, Any] = {
            "TableName": self._table,
            "KeyConditionExpression": "#key = :value",
            "ExpressionAttributeNames": {"#key": key},
            "ExpressionAttributeValues": {":value": {"S": value}},
        }
        if index:
            asked["IndexName"] = index
        for page in self._client.get_paginator("query").paginate(**asked):
            for item in page["Items"]:
                yield {name: _plain(value) for name, value in item.items()}


def _plain(value: dict[str, Any]) -> Any:
    ((kind, content),) = value.items()
    match kind:
        case "N":
            return int(content)
        case "NULL":
            return None
        case "M":
            return {name: _plain(each) for name, each in content.items()}
        case "L":
            return [_plain(each) for each in content]
        case _:
            return content
