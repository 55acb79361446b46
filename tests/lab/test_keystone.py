"""OpenStack's users at the gateways: a real Keystone, which these tests put on `client1`, says whose token it is."""

import json
import secrets
from collections.abc import Iterator

import pytest
from gateways import front, up
from product import PILLAR, Product

from proposals.files.documents import parse_yaml

SITE = f"{PILLAR}/stack/ceph/cluster.yml"
GIVEN = f"{PILLAR}/keys/given"
KEYSTONE = "https://client1:5000"
PACKAGES = "keystone apache2 libapache2-mod-wsgi-py3 python3-openstackclient curl"
# Tokens are not kept: one that was revoked is refused at once.
SETTINGS = {"url": KEYSTONE, "ca": "rgw-ca.pem", "accepted_roles": ["member", "admin"], "token_cache": 0}
INSTALL = f"""set -eu
printf '#!/bin/sh\\nexit 101\\n' >/usr/sbin/policy-rc.d; chmod +x /usr/sbin/policy-rc.d
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
apt-get install -q -y --no-install-recommends -o Dpkg::Options::=--force-confold {PACKAGES} </dev/null
rm /usr/sbin/policy-rc.d
"""
CONF = """[DEFAULT]
log_dir = /var/log/keystone
log_file = keystone.log
[database]
connection = sqlite:////var/lib/keystone/keystone.db
[token]
provider = fernet
[oslo_policy]
policy_dirs = /etc/keystone/policy.d
"""
SERVES = """Listen 5000
<VirtualHost *:5000>
    SSLEngine on
    SSLCertificateFile /etc/keystone/tls.crt
    SSLCertificateKeyFile /etc/keystone/tls.key
    WSGIDaemonProcess keystone processes=2 threads=1 user=keystone group=keystone
    WSGIProcessGroup keystone
    WSGIScriptAlias / /usr/bin/keystone-wsgi-public
    WSGIApplicationGroup %{GLOBAL}
    WSGIPassAuthorization On
    <Directory /usr/bin>
        Require all granted
    </Directory>
</VirtualHost>
"""
# sqlite without its write-ahead log answers "database is locked" at random.
START = f"""set -eu
mkdir -p /etc/keystone/policy.d; chown root:keystone /etc/keystone/keystone.conf
runuser -u keystone -- keystone-manage db_sync
cd /var/lib/keystone
python3 -c 'import sqlite3; sqlite3.connect("keystone.db").execute("pragma journal_mode=wal")'
chown keystone: keystone.db*
for what in fernet_setup credential_setup; do
    keystone-manage $what --keystone-user keystone --keystone-group keystone
done
cp /etc/keystone/ca.pem /usr/local/share/ca-certificates/lab-keystone.crt; update-ca-certificates
OS_BOOTSTRAP_PASSWORD=$(cat /srv/admin.pw) runuser -u keystone -w OS_BOOTSTRAP_PASSWORD -- keystone-manage bootstrap \\
    --bootstrap-admin-url {KEYSTONE}/v3/ --bootstrap-internal-url {KEYSTONE}/v3/ \\
    --bootstrap-public-url {KEYSTONE}/v3/ --bootstrap-region-id RegionOne
systemctl disable --now keystone || true
echo >/etc/apache2/ports.conf; a2dissite 000-default; a2enmod ssl wsgi; a2ensite keystone; systemctl restart apache2
"""


@pytest.fixture(scope="module")
def cloud(served: Product) -> Iterator[dict[str, str]]:
    """Keystone on client1, gateways that ask it; passwords by user, and the project's id."""
    words = {user: secrets.token_hex(12) for user in ("admin", "rgw", "ann", "eve")}
    served.run("client1", INSTALL, limit=900)
    for path, text in {
        "/etc/keystone/keystone.conf": CONF,
        "/etc/apache2/sites-available/keystone.conf": SERVES,
        "/srv/admin.pw": words["admin"] + "\n",
        "/etc/keystone/tls.crt": served.run("saltmaster", f"cat {GIVEN}/rgw.crt").out,
        "/etc/keystone/tls.key": served.run("saltmaster", f"cat {GIVEN}/rgw.key").out,
        "/etc/keystone/ca.pem": served.run("saltmaster", f"cat {GIVEN}/rgw-ca.pem").out,
    }.items():
        served.run("client1", f"cat >{path} <<'EOF'\n{text}EOF")
    served.run("client1", START, limit=300)
    lines = ["project create --or-show service", "project create --or-show shop"]
    for user, project, role in (("rgw", "service", "admin"), ("ann", "shop", "member"), ("eve", "shop", "reader")):
        lines += [
            f"user create --password {words[user]} {user}",
            f"role add --project {project} --user {user} {role}",
        ]
    asked(served, "admin", words["admin"], "admin", "\n".join(lines))
    words["shop"] = asked(served, "admin", words["admin"], "admin", "project show shop -f value -c id")
    before = served.run("saltmaster", f"cat {SITE}").out
    said = parse_yaml(before, SITE) | {"rgw_keystone": SETTINGS}
    served.write(SITE, json.dumps(said) + "\n")
    served.write(f"{GIVEN}/rgw_keystone", words["rgw"] + "\n")
    try:
        renewed(served)
        yield words
    finally:
        served.write(SITE, before)
        served.run("saltmaster", f"rm {GIVEN}/rgw_keystone")
        renewed(served)
        served.run("client1", "systemctl disable --now apache2")


def renewed(product: Product) -> None:
    """Other settings reach the gateways with a restart, one host after the other."""
    product.stage("ceph.stage.configure")
    assert up(product)[0] == 0
    assert product.stage("ceph.stage.restart").code == 0


def asked(product: Product, user: str, password: str, project: str, lines: str) -> str:
    """What `openstack` answers to commands."""
    told = f"export OS_AUTH_URL={KEYSTONE}/v3 OS_IDENTITY_API_VERSION=3 OS_USERNAME={user} OS_PASSWORD={password}"
    told += f" OS_PROJECT_NAME={project} OS_USER_DOMAIN_NAME=Default OS_PROJECT_DOMAIN_NAME=Default"
    one = f"openstack {lines}" if "\n" not in lines else f"openstack <<'EOF'\n{lines}\nEOF"
    return product.run("client1", f"{told}\n{one}", limit=300).out.strip()


def swift(product: Product, path: str, token: str, more: str = "") -> tuple[int, str]:
    """A Swift request through HAProxy: its status, what came."""
    url = f"https://{front(product)}/swift/v1/{path}"
    curl = "curl -sS --cacert /etc/keystone/ca.pem -o /tmp/came -w '%{http_code}'"
    done = product.run("client1", f"{curl} -H 'X-Auth-Token: {token}' {more} {url}; echo; cat /tmp/came")
    status, _, came = done.out.partition("\n")
    return int(status), came


@pytest.mark.big
def test_a_token_of_keystone_opens_its_projects_containers(served: Product, cloud: dict[str, str]) -> None:
    token = asked(served, "ann", cloud["ann"], "shop", "token issue -f value -c id")
    account = f"AUTH_{cloud['shop']}"
    assert swift(served, f"{account}/box", token, "-X PUT")[0] == 201
    assert swift(served, f"{account}/box/one", token, "-X PUT -d 'by a token'")[0] == 201
    assert swift(served, f"{account}/box/one", token) == (200, "by a token")
    users = json.loads(served.run("saltmaster", "radosgw-admin user list").out)
    assert f"{cloud['shop']}${cloud['shop']}" in users  # a tenant a project
    assert swift(served, f"{account}/box/one", "gAAAAA-not-a-token")[0] == 401
    other = asked(served, "eve", cloud["eve"], "shop", "token issue -f value -c id")
    assert swift(served, f"{account}/box/one", other)[0] in (401, 403)  # her role is none that is accepted
    asked(served, "ann", cloud["ann"], "shop", f"token revoke {token}")
    assert swift(served, f"{account}/box/one", token)[0] == 401


@pytest.mark.big
def test_a_smoke_test_of_swift_names_a_keystone_that_is_down(served: Product, cloud: dict[str, str]) -> None:
    test = "salt-run smoke.test swift"
    done = served.run("saltmaster", test, check=False)
    assert done.code == 0 and "swift: passed: " in done.out, done.out + done.err
    assert "halocline-smoke" not in served.run("saltmaster", "radosgw-admin bucket list").out
    served.run("client1", "systemctl stop apache2")
    try:
        done = served.run("saltmaster", test, check=False)
        assert done.code == 1 and f"swift: FAILED: {KEYSTONE}" in done.out
        assert cloud["rgw"] not in done.out + done.err
    finally:
        served.run("client1", "systemctl start apache2")


@pytest.mark.big
def test_the_password_is_in_a_file_that_only_the_gateway_reads(served: Product, cloud: dict[str, str]) -> None:
    path = "/var/lib/ceph/radosgw/ceph-rgw.node1/keystone-password"
    assert served.run("node1", f"stat -c '%a %U' {path}").out.strip() == "600 ceph"
    found = served.run("node1", f"grep -rlF {cloud['rgw']} /etc /var/lib/ceph/radosgw /var/log", check=False).out
    assert found.split() == [path]
