"""A lab's Salt in the tests' hands: pytest-salt-factories' commands with parsed answers, run in the master's node.

Its commands go in as they are. Of the rest of the package nothing fits a lab, which is made for users first and must
not need it: ``daemons.container`` starts one daemon in a container on one network, with the tests' own Salt and
settings mounted into it, where a node boots an image with systemd, disks and two networks; its ``Container.run`` asks
by docker-py, which loses output (``lab.containers.run``); its ``LocalClient`` needs the master's sockets on this
machine. A guest of a real kernel is no process of this machine, so ``salt-call`` in it is asked as any command is
(``tests/kernel/alone.py``).
"""

from pytestshellutils.utils.processes import ProcessResult
from saltfactories.bases import SaltCli
from saltfactories.cli.run import SaltRun
from saltfactories.cli.salt import Salt

from lab import containers
from lab.session import Session
from lab.store import find

CONFIG = {"id": "saltmaster", "conf_file": "/etc/salt/master"}  # of the node


def salt_run(session: Session, *words: str, check: bool = True, limit: float = 600) -> ProcessResult:
    """Run ``salt-run WORDS`` on a lab's master as a program does; ``data`` is the answer.

    check: raise AssertionError where the exit status is not 0. limit: seconds.
    """
    return _checked(_cli(SaltRun, "salt-run", session, limit).run(*words), check)


def salt(session: Session, target: str, *words: str, check: bool = True, limit: float = 600) -> ProcessResult:
    """Run ``salt TARGET WORDS`` on a lab's master; ``data`` is what each minion answered, or one that is named alone.

    Arguments as above.
    """
    return _checked(_cli(Salt, "salt", session, limit).run(*words, minion_tgt=target), check)


def _cli(kind: type[SaltCli], program: str, session: Session, limit: float) -> SaltCli:
    node = containers.name_of(find(session.name), session.master)
    words = ["exec", node, "timeout", "-k", "5", str(limit), program]
    return kind(script_name="docker", base_script_args=words, config=CONFIG)


def _checked(done: ProcessResult, check: bool) -> ProcessResult:
    assert not check or done.returncode == 0, done
    return done
