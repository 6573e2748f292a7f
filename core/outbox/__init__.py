"""The outbox: changes of the relational database that have to reach the table, too.

An entry is written in the transaction of its change and processed by the handler of its kind: at
once by the action that wrote it, or later by the relay of any server. Entries with the same
`ordering_key` are processed one after the other, in the order of their ids.
"""
