"""Which masters this minion takes jobs from."""

import salt.config


def active() -> list[str]:
    """Return the addresses of all masters that may give this minion jobs at the same time, sorted.

    Read from its configuration: with several, each connection of a minion knows its own master alone. Several are
    active where ``master`` is a list, unless ``master_type`` has the minion take one after the other (``failover``) or
    one for good (``distributed``).

    CLI Example:

    .. code-block:: bash

        salt '*' host_masters.active
    """
    told = salt.config.minion_config(__opts__["conf_file"])
    if isinstance(told["master"], list) and told["master_type"] == "str":
        return sorted({str(master) for master in told["master"]})
    return [str(__opts__["master"])]
