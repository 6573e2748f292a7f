"""The outbox: changes in the relational database that must be applied to DynamoDB too.

An entry is written in the same transaction as its change and processed by the handler of its kind,
either immediately by the action that wrote it or later by the relay of any server. Entries with the
same `ordering_key` are processed one at a time, in the order of their ids.
"""
