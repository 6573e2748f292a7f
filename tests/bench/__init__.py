"""How fast it is, and what of that is the machine's.

`script/bench` runs it. `world` is the service as it would be deployed; `talk`, `bare`, `pages` and
`crowd` are loads, each in a process of its own; `run` interleaves them; `report` is the table.
"""
