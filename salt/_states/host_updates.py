"""Updates of this host, as a state."""

import halocline
import halocline_packages


@halocline.state
def applied(name: str) -> dict:
    """All updates that remove no package, of those that ``host_updates.inspect`` saw, which asked the sources before.

    ``name`` is only a name.
    """
    with halocline_packages.new_too():
        return __states__["pkg.uptodate"](name, refresh=False, dist_upgrade=False)
