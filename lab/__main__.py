"""`python -m lab VERB`: a Ceph cluster on this machine. lab/cli.py lists the verbs."""

import sys

try:
    import requests
    from docker.errors import DockerException  # whether it is there at all is asked here, once
except ImportError:
    sys.exit("lab: the Docker SDK is missing: run this with .venv/bin/python (`make .venv` makes it).")

from lab.cli import main
from lab.errors import LabError

if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except LabError as err:
        sys.exit(f"lab: {err}")
    except (DockerException, requests.exceptions.RequestException) as err:
        sys.exit(f"lab: Docker: {err}\nRun the same again; where it fails too, restart the Docker daemon first.")
    except OSError as err:  # a full disk, say; what is half made the next `up` takes away
        sys.exit(f"lab: {err}")
    except KeyboardInterrupt:
        sys.exit("lab: interrupted.")
