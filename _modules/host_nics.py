"""Look at this host's network ports, now."""

import salt.loader


def inspect() -> list[dict]:
    """Return the ports of this host as the ``ceph_nics`` grain sees them now: a list, sorted by name.

    CLI Example:

    .. code-block:: bash

        salt 'osdnode1' host_nics.inspect
    """
    return salt.loader.grain_funcs(__opts__)["ceph_nics.ceph_nics"]()["ceph_nics"]
