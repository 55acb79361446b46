"""Ask Ceph's monitors several commands over one connection: a program for the Python that ``ceph`` itself runs by.

It reads ``{name, conf, asked: [[command, input], ...]}`` as JSON and prints ``[status, output, words]`` of each, in
their order. Ceph's own binding (python3-rados, without which there is no ``ceph``) does the rest. Salt's Python has it
not: so this is a program, and ``halocline_monitors`` runs it.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor

NO_BINDING = 3  # exit status
AT_ONCE = 16  # commands under way; the monitors commit what comes together in one round


def main() -> int:
    """Return the exit status: 1 where no monitor answers, NO_BINDING without the binding."""
    try:
        import rados
    except ImportError:
        return NO_BINDING
    told = json.load(sys.stdin)
    try:
        cluster = rados.Rados(name=told["name"], conffile=rados.Rados.DEFAULT_CONF_FILES, conf=told["conf"])
        cluster.connect()
    except rados.Error as err:
        print(err, file=sys.stderr)
        return 1

    def ask(asked: tuple) -> list:
        command, given = asked
        status, output, words = cluster.mon_command(json.dumps(command), given.encode())
        return [status, output.decode(errors="replace"), words]

    with ThreadPoolExecutor(AT_ONCE) as pool:
        json.dump(list(pool.map(ask, told["asked"])), sys.stdout)
    cluster.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
