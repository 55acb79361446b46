"""Gateways with a real client: S3 over TLS through HAProxy, users from pillar, one gateway killed, then one front."""

import configparser
import json
from collections.abc import Callable
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from gateways import front, up
from product import PILLAR, Product, until

CREDENTIALS = "/etc/ceph/rgw-users.credentials"
PART = 5 * 2**20  # bytes; no smaller part but the last (docs.aws.amazon.com, S3 multipart upload limits)
# What later releases of boto3 add to requests Ceph 16 does not know (MissingContentLength).
PLAIN = {"request_checksum_calculation": "when_required", "response_checksum_validation": "when_required"}


@pytest.fixture(scope="module")
def s3(served: Product, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """A client of the address before the gateways, by a user's name."""
    ca = tmp_path_factory.mktemp("rgw") / "ca.pem"
    ca.write_text(served.run("saltmaster", f"cat {PILLAR}/keys/given/rgw-ca.pem").out)

    def client(user: str, secret: str | None = None) -> Any:
        keys = credentials(served)[user]
        return boto3.client(
            "s3",
            endpoint_url=f"https://{front(served)}",
            aws_access_key_id=keys["aws_access_key_id"],
            aws_secret_access_key=secret or keys["aws_secret_access_key"],
            region_name="default",
            verify=str(ca),
            config=Config(s3={"addressing_style": "path"}, **PLAIN),
        )

    return client


def credentials(product: Product) -> configparser.ConfigParser:
    """The users' keys, as the admin finds them on the master's host."""
    found = configparser.ConfigParser(interpolation=None)
    found.read_string(product.run("saltmaster", f"cat {CREDENTIALS}").out)
    return found


def test_objects_over_tls(served: Product, s3: Callable[..., Any]) -> None:
    client = s3("alice")
    client.create_bucket(Bucket="plain")
    client.put_object(Bucket="plain", Key="one", Body=b"through HAProxy")
    assert client.get_object(Bucket="plain", Key="one")["Body"].read() == b"through HAProxy"
    assert [one["Key"] for one in client.list_objects_v2(Bucket="plain")["Contents"]] == ["one"]
    client.delete_object(Bucket="plain", Key="one")
    assert client.list_objects_v2(Bucket="plain")["KeyCount"] == 0
    with pytest.raises(ClientError, match="NoSuchKey"):
        client.get_object(Bucket="plain", Key="one")


def test_an_object_of_many_parts_lies_in_the_erasure_coded_pool(served: Product, s3: Callable[..., Any]) -> None:
    client, body = s3("alice"), bytes(range(256)) * (PART // 256) + b"the end"
    client.create_bucket(Bucket="parts")
    upload = client.create_multipart_upload(Bucket="parts", Key="large")["UploadId"]
    parts = []
    for number, part in enumerate((body[:PART], body[PART:]), start=1):
        where = {"Bucket": "parts", "Key": "large", "UploadId": upload, "PartNumber": number}
        parts.append({"PartNumber": number, "ETag": client.upload_part(**where, Body=part)["ETag"]})
    client.complete_multipart_upload(Bucket="parts", Key="large", UploadId=upload, MultipartUpload={"Parts": parts})
    assert client.head_object(Bucket="parts", Key="large")["ETag"].strip('"').endswith("-2")
    assert client.get_object(Bucket="parts", Key="large")["Body"].read() == body
    pools = {pool["pool_name"]: pool for pool in served.ceph("osd pool ls detail")}
    assert pools["default.rgw.buckets.data"]["erasure_code_profile"]
    assert "large" in served.run("saltmaster", "rados -p default.rgw.buckets.data ls").out


def test_users_are_as_pillar_says_and_their_keys_are_theirs_alone(served: Product, s3: Callable[..., Any]) -> None:
    found = json.loads(served.run("saltmaster", "radosgw-admin user info --uid backup").out)
    assert (found["display_name"], found["max_buckets"]) == ("Backups", 2)
    assert found["caps"] == [{"type": "usage", "perm": "read"}]
    client = s3("backup")
    for name in ("first", "second"):
        client.create_bucket(Bucket=name)
    with pytest.raises(ClientError, match="TooManyBuckets"):
        client.create_bucket(Bucket="third")
    with pytest.raises(ClientError, match="SignatureDoesNotMatch"):
        s3("backup", secret="not-the-one").list_buckets()
    with pytest.raises(ClientError, match="AccessDenied"):
        client.list_objects_v2(Bucket="plain")
    secret = credentials(served)["alice"]["aws_secret_access_key"]
    places = "/srv /etc /var/cache/salt/minion /var/cache/salt/master/jobs /var/log"
    held = served.run("saltmaster", f"grep -rlF -e {secret} {places}", check=False).out.splitlines()
    assert {path for path in held if not path.startswith(f"{PILLAR}/secrets/")} == {
        CREDENTIALS,
        f"{PILLAR}/keys/keys.json",
    }
    assert served.run("saltmaster", f"stat -c %a {CREDENTIALS}").out.strip() == "600"


def test_a_gateway_is_killed_and_requests_go_on(served: Product, s3: Callable[..., Any]) -> None:
    client, bodies = s3("alice"), {f"key{number}": f"body {number}".encode() for number in range(40)}
    client.create_bucket(Bucket="going-on")
    for number, (key, body) in enumerate(bodies.items()):
        if number == 10:
            served.run(
                "node1", "systemctl kill --signal=KILL ceph-radosgw@rgw.node1; systemctl stop ceph-radosgw@rgw.node1"
            )
        client.put_object(Bucket="going-on", Key=key, Body=body)
    assert served.run("node1", "pgrep -x radosgw", check=False).code == 1
    assert {key: client.get_object(Bucket="going-on", Key=key)["Body"].read() for key in bodies} == bodies
    code, said = up(served)
    assert code == 0
    assert "ceph-service-rgw-rgw.node1-running" in said["changes"]["radosgw: rgw"].pop("node1")
    assert said["changes"] == {"radosgw: rgw": {}}
    assert up(served)[1]["changes"] == {}


def test_the_address_moves_when_its_host_cannot_serve_it(served: Product, s3: Callable[..., Any]) -> None:
    address = front(served)

    def holders() -> list[str]:
        return [host for host in ("node1", "node2") if f" {address}/" in served.run(host, "ip -4 addr").out]

    until(lambda: len(holders()) == 1, 30, f"one host has {address}")
    (before,) = holders()
    served.run(before, "systemctl stop ceph-rgw-haproxy")
    try:
        until(lambda: holders() and before not in holders(), 30, f"{address} moves away from {before}")
        assert "going-on" in [one["Name"] for one in s3("alice").list_buckets()["Buckets"]]
        # Discovery takes it for nobody's: as a host's address it would become a monitor's.
        assert served.run("saltmaster", "salt-run state.orch ceph.stage.discovery").code == 0
        assert served.run("saltmaster", f"grep -rF {address} {PILLAR}/inventory", check=False).code == 1
        assert served.run("saltmaster", f"grep -rlF 192.168 {PILLAR}/inventory").out  # it finds addresses
    finally:
        code, said = up(served, check=False)
    assert code == 0, said["comment"]
    assert said["changes"] == {"radosgw: rgw-frontend": {before: ["ceph-service-rgw-frontend-haproxy-running"]}}


@pytest.mark.big
def test_a_users_secret_is_replaced(served: Product, s3: Callable[..., Any]) -> None:
    old = credentials(served)["alice"]["aws_secret_access_key"]
    served.run("saltmaster", "salt-run secret.rotate rgw_users.alice")
    served.stage("ceph.stage.configure")
    code, said = up(served)
    assert code == 0
    assert said["changes"]["radosgw"]["saltmaster"] == [
        "ceph-service-rgw-users-alice",
        "ceph-service-rgw-users-credentials",
    ]
    s3("alice").list_buckets()
    with pytest.raises(ClientError, match="SignatureDoesNotMatch"):
        s3("alice", secret=old).list_buckets()


@pytest.mark.big
def test_a_gateway_that_cannot_come_up_is_named_with_its_cause(served: Product) -> None:
    """Its certificate was spoiled behind the stage's back; the other gateway is left alone."""
    path = "/var/lib/ceph/radosgw/ceph-rgw.node2/tls.pem"
    served.run("node2", f"cp -a {path} {path}.kept; systemctl stop ceph-radosgw@rgw.node2")
    certificate = f"{PILLAR}/keys/given/rgw.crt"
    served.run("saltmaster", f"cp -a {certificate} /srv/kept.crt; echo nonsense >{certificate}")
    try:
        served.stage("ceph.stage.configure")
        code, said = up(served, check=False)
        assert code == 1
        silent = "ceph-service-rgw-rgw.node2-answers: ceph-radosgw@rgw.node2 does not listen on port 8400"
        assert f"node2: {silent}" in said["comment"]
        assert served.run("node1", "systemctl is-active ceph-radosgw@rgw.node1").out.strip() == "active"
    finally:
        served.run("saltmaster", f"cp -a /srv/kept.crt {certificate}")
        served.stage("ceph.stage.configure")
    assert up(served)[0] == 0
