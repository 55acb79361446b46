"""One measurement in a process of its own: ``HOSTS DISKS`` -> CPU seconds and memory of planning, as JSON."""

import gc
import json
import resource
import sys
import time

from machines import ARGUMENTS, inventory

from proposals.disks import arguments, plan

AGAIN = 4  # of so many more, large or small, the best is the least disturbed


def planned(text: str) -> tuple[float, dict]:
    """CPU seconds from an inventory that was read to an answer that can be printed."""
    raw = json.loads(text)
    gc.collect()
    start = time.process_time()
    answer = plan.peek(raw, arguments.parse(ARGUMENTS)).as_dict()
    return time.process_time() - start, answer


def main() -> None:
    hosts, disks = map(int, sys.argv[1:])
    text = json.dumps(inventory(hosts, disks))
    first, answer = planned(text)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    osds = answer["summary"]["osds"]
    del answer
    best = min(first, *(planned(text)[0] for _ in range(AGAIN)))
    print(json.dumps({"cpu": best, "peak": peak, "disks": hosts * disks, "osds": osds, "inventory": len(text)}))


if __name__ == "__main__":
    main()
