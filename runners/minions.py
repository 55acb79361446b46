"""``salt-run minions.*``: which minions are ours, and one job that asks them."""

from pathlib import Path

import salt.client
import salt.exceptions
import salt.pillar
import salt.utils.minions

from proposals import answer
from proposals.files import tree
from proposals.files.site import site
from proposals.text.errors import PolicyError, ProposalError

SHIPPED = "*"  # of pillar/ceph/minions.sls
# What Salt's client raises where no master takes a job, or not this user's.
REFUSED = (
    salt.exceptions.SaltClientError,
    salt.exceptions.SaltReqTimeoutError,
    salt.exceptions.AuthenticationError,
)


@answer.answers
def ours():
    """Return the accepted minions that ``ceph_minions`` matches, sorted.

    CLI Example:

    .. code-block:: bash

        salt-run minions.ours
    """
    target = pillar()["ceph_minions"]
    if target == SHIPPED and not _own_file().exists() and (other := _other_top()):
        raise ProposalError(
            f"this master serves its minions something else already ({other}): which of them are Halocline's? Write "
            f"for example \"ceph_minions: 'osd*'\" into {_own_file()}; accepted are {', '.join(match('*')) or 'none'}"
        )
    return match(target)


@answer.answers
def pillar():
    """Return the master's own pillar: what stages, and runners, are told by the site.

    CLI Example:

    .. code-block:: bash

        salt-run minions.pillar
    """
    own = salt.pillar.get_pillar(__opts__, {}, __opts__["id"], "base").compile_pillar()
    if "ceph_minions" not in own:
        raise ProposalError(
            f"the master's pillar does not hold ceph_minions ({'; '.join(own.get('_errors', ['no error']))}): is "
            "srv/master.d/halocline.conf in the master's master.d, and the master restarted since?"
        )
    return own


@answer.answers
def match(target):
    """Return the minions that a Salt compound match names, sorted.

    CLI Example:

    .. code-block:: bash

        salt-run minions.match 'osd*'
    """
    found = salt.utils.minions.CkMinions(__opts__).check_minions(target, "compound")
    return sorted(found["minions"])


@answer.answers
def ask(minions, functions, arguments=None, timeout=60):
    """Run functions on minions in one job; return ``{minion: {function: answer}}`` of those that answered.

    minions
        A list of minion ids. Those that the running stage found silent when it began are not asked again.
    functions
        A list of function names.
    arguments
        For each function its list of arguments.
    timeout
        Seconds to wait for an answer.

    CLI Example:

    .. code-block:: bash

        salt-run minions.ask '[node1]' '[test.ping]'
    """
    arguments = arguments or [[] for _ in functions]
    asked = sorted(set(minions) - set(__salt__["stage_lock.silent"]()))
    if not asked:
        return {}
    found = _job(asked, list(functions), arguments, timeout)
    return {minion: given for minion, given in found.items() if isinstance(given, dict)}


@answer.answers
def one(minion, function, arguments=(), timeout=300):
    """Return one minion's answer, data of any kind; ProposalError with its own words where it fails.

    minion
        Its id.
    function
        What to run there: one that answers a mapping or a list.
    arguments
        A list.
    timeout
        Seconds to wait for the answer.

    CLI Example:

    .. code-block:: bash

        salt-run minions.one node1 grains.items
    """
    if minion not in ours():
        raise ProposalError(f"{minion} is none of our minions; they are {', '.join(ours()) or 'not there yet'}")
    # As a job of one function: of several, Salt answers a traceback where one fails.
    given = _job([minion], function, list(arguments), timeout).get(minion, False)
    if given is False:
        raise ProposalError(f"{minion} does not answer: does its salt-minion run?")
    if not isinstance(given, (dict, list)):
        said = str(given).removeprefix("ERROR: ")
        if (
            "Traceback" in said
        ):  # ours raise CommandExecutionError; of what Salt or Python raised, the last line says it
            said = f"{function}: {said.strip().splitlines()[-1]} (the minion's log has more)"
        raise ProposalError(f"{minion}: {said}")
    return given


@answer.answers
def members():
    """Return the minions of each role in the generation that is served; PolicyError where there is none.

    CLI Example:

    .. code-block:: bash

        salt-run minions.members
    """
    told = site(__opts__).current / "stack" / "default" / "ceph" / "minions" / f"{__opts__['id']}.yml"
    if not told.exists():
        raise PolicyError("nothing is configured yet: run 'salt-run state.orch ceph.stage.configure' first")
    return tree.read_yaml(told)["ceph"]["members"]


@answer.answers
def cluster(function, arguments=(), timeout=300):
    """Return what a function answers on the host that has the role master, which holds the admin's key.

    Arguments as for ``minions.one``.

    CLI Example:

    .. code-block:: bash

        salt-run minions.cluster cluster_osds.states
    """
    return one(members()["master"][0], function, arguments, timeout)


def _job(minions, functions, arguments, timeout):
    """One Salt job; ProposalError where the master takes none."""
    try:
        with salt.client.get_local_client(mopts=__opts__) as client:
            return client.cmd(minions, functions, arguments, tgt_type="list", timeout=timeout)
    except REFUSED as err:
        raise ProposalError(f"the Salt master takes no jobs ({err}): is salt-master running?") from err


def _roots(kind):
    """The site's own folders among ``file_roots`` or ``pillar_roots``: all but ours."""
    roots = [Path(root) for root in __opts__[kind]["base"]]
    return [root for root in roots if not any((root / "ceph" / each).exists() for each in ("stack.cfg", "stage"))]


def _other_top():
    """A top file that is not ours: this master has had its work before us."""
    name = __opts__["state_top"].removeprefix("salt://")
    tops = [root / name for kind in ("file_roots", "pillar_roots") for root in _roots(kind)]
    return next((top for top in tops if top.exists()), None)


def _own_file():
    """Where the site says which minions are ours."""
    return site(__opts__).root / "minions.sls"
