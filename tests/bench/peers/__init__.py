"""The same load on Parley and on other messaging servers.

`script/bench --peers` runs it. `parley`, `ejabberd`, `prosody` and `private_chat` start a server
each; `driver` generates load in a separate process, with `websocket_clients` and `xmpp`; `compare`
interleaves the servers; `report` prints the tables.
"""
