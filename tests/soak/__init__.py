"""Soak test: simulated users exchange messages while faults are injected; then data is verified.

`script/soak` runs it. `deployment` starts the services, `simulated_users` the clients, `chaos`
injects the faults, and `checker` verifies the result.
"""
