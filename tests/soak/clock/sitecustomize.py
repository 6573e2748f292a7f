"""Read by Python itself, first of all, in the one service whose clock is to be wrong."""

import os
import time

import time_machine

time_machine.travel(time.time() + float(os.environ["SOAK_CLOCK_AHEAD"]), tick=True).start()
