"""Benchmarks of the service, compared with the bare engine on the same machine.

`script/bench` runs them. `deployment` starts the service as in production; `messaging_load`,
`engine_load`, `pages` and `socket_load` generate load, mostly in separate processes; `run`
interleaves them; `report` prints the table; `peers` compares with other servers.
"""
