"""``python -m tests.bench``: every benchmark of the project, ratios printed, no clock asserted."""

from tests.bench import planner

planner.main()
