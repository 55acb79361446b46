"""Files of the site's own on a lab's master, which come before the product's in its file root."""

from collections.abc import Mapping

from product import Product, until

FOLDER = "/srv/own"
CONF = "/etc/salt/master.d/a-site.conf"
PING = "salt --static --out txt '*' test.ping | grep -c True"


def write(product: Product, files: Mapping[str, str]) -> None:
    """Write files, path below the file root -> text, and let the master serve them."""
    for path, text in files.items():
        product.write(f"{FOLDER}/{path}", text)
    if product.run("saltmaster", f"test -e {CONF}", check=False).code:
        product.run("saltmaster", f"echo 'file_roots: {{base: [{FOLDER}]}}' >{CONF}; systemctl restart salt-master")
    hosts = len(product.session.hosts)
    until(lambda: product.run("saltmaster", PING, check=False).out.strip() == str(hosts), 90, "all minions answer")
