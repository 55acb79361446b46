"""All services, in the order in which they come up: what another needs first."""

from collections.abc import Iterable

from proposals.services import cephfs, clients, dashboard, ganesha, iscsi, monitoring, openstack
from proposals.services.radosgw import gateways
from proposals.services.service import Service
from proposals.settings.reader import SiteSettings
from proposals.text.errors import ArgumentError
from proposals.text.names import nearest, shown

SERVICES: tuple[Service, ...] = (
    cephfs.SERVICE,
    gateways.SERVICE,
    ganesha.SERVICE,
    iscsi.SERVICE,
    openstack.SERVICE,
    clients.SERVICE,
    monitoring.SERVICE,
    dashboard.SERVICE,
)
ALL = "services"  # ceph.stage.services brings up all


def roles(settings: SiteSettings) -> list[str]:
    """Return the roles of gateways and NFS servers: the usual ones, and those that a site names itself."""
    return sorted({*gateways.configurations(settings), *ganesha.configurations(settings)})


def named(names: Iterable[str] | None) -> list[Service]:
    """Return the services of these names; all where none is given, or the stage of all. Raises ArgumentError."""
    asked = [names] if isinstance(names, str) else list(names or [ALL])
    known = {service.name: service for service in SERVICES}
    for name in asked:
        if name not in known and name != ALL:
            raise ArgumentError(f"there is no service '{shown(name)}'{nearest(str(name), known)}")
    return [service for service in SERVICES if service.name in asked or ALL in asked]
