"""Proof by fault: people talk while everything that can break is broken; then nothing is missing.

`script/soak` runs it. `world` is what they talk through, `crowd` the people, `chaos` what
happens to them, `checker` what must be true afterwards.
"""
