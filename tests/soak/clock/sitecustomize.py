"""Shifts the clock of a service; Python imports this module at startup."""

import os
import time

import time_machine

time_machine.travel(time.time() + float(os.environ["SOAK_CLOCK_AHEAD"]), tick=True).start()
