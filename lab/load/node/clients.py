"""The clients: RADOS, an RBD image by librbd, CephFS by ceph-fuse, S3 by boto3. Each knows its own library alone.

A stalled cluster makes the first three wait, as it does to users; S3 fails after a while and is tried again.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lab.load.node.content import SIZE
from lab.load.node.worker import Client

FOLDER = Path("/var/lib/lab-load")
CONF = FOLDER / "ceph.conf"
CA = FOLDER / "ca.pem"
NAME = "lab-load"  # of the pool, the Ceph user, the bucket, the folder, the image
USER = f"client.{NAME}"
STRIPE = 64 * 1024  # bytes from one of the image's objects to the next: each lies in an object of RADOS of its own
CONNECT, ANSWER = 5, 120  # seconds: an S3 request that waits for the cluster is not given up early


class Rados:
    """Objects in the load's pool."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        import rados

        self.errors = (rados.Error,)
        self._nothing = rados.ObjectNotFound
        self._cluster = rados.Rados(name=USER, conffile=str(CONF))
        self._cluster.connect()
        self.pool = self._cluster.open_ioctx(NAME)

    def write(self, number: int, data: bytes) -> None:
        self.pool.write_full(f"object-{number}", data)

    def read(self, number: int) -> bytes | None:
        try:
            return self.pool.read(f"object-{number}", SIZE + 1)
        except self._nothing:
            return None

    def close(self) -> None:
        self._cluster.shutdown()


class Rbd:
    """Stretches of an image; librbd caches nothing (ceph.conf)."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        import rbd

        self.errors = (rbd.Error,)
        self._rados = Rados(settings)
        self._image = rbd.Image(self._rados.pool, NAME)

    def write(self, number: int, data: bytes) -> None:
        self._image.write(data, number * STRIPE)
        self._image.flush()

    def read(self, number: int) -> bytes | None:
        found = self._image.read(number * STRIPE, SIZE)
        return found if any(found) else None  # an image is full of zeros where nothing was written

    def close(self) -> None:
        self._image.close()
        self._rados.close()


class CephFS:
    """Files in a folder of a file system: each version a new file that takes the name, as programs save files."""

    errors = (OSError,)

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._mount = Path(tempfile.mkdtemp(prefix="cephfs-", dir=FOLDER))
        words = ["ceph-fuse", "-c", CONF, "-n", USER, "--client_fs", settings["cephfs"], self._mount]
        subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
        self._folder = self._mount / NAME
        self._folder.mkdir(exist_ok=True)

    def write(self, number: int, data: bytes) -> None:
        draft = self._folder / f"object-{number}.new"
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._folder / f"object-{number}")
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def read(self, number: int) -> bytes | None:
        try:
            return (self._folder / f"object-{number}").read_bytes()
        except FileNotFoundError:
            return None

    def close(self) -> None:
        subprocess.run(["umount", self._mount], check=True)
        self._mount.rmdir()

    def remove(self) -> None:
        """Take the folder away with all that is in it."""
        shutil.rmtree(self._folder)


class S3:
    """Objects in a bucket; a request that failed is sent to the next gateway."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError, ClientError
        from urllib3.exceptions import HTTPError

        self.errors = (BotoCoreError, ClientError, HTTPError)
        self._refused = ClientError
        config = Config(
            s3={"addressing_style": "path"},
            connect_timeout=CONNECT,
            read_timeout=ANSWER,
            retries={"total_max_attempts": 1},  # who tries again knows what that means: worker.py
        )
        s3 = settings["s3"]
        keys = {"aws_access_key_id": s3["access_key"], "aws_secret_access_key": s3["secret_key"]}
        self._gateways = [
            boto3.client("s3", endpoint_url=url, region_name="default", verify=s3["ca"], config=config, **keys)
            for url in s3["urls"]
        ]
        self._ask("create_bucket")

    def write(self, number: int, data: bytes) -> None:
        self._ask("put_object", Key=f"object-{number}", Body=data)

    def read(self, number: int) -> bytes | None:
        try:
            return self._ask("get_object", Key=f"object-{number}")["Body"].read()
        except self._refused as err:
            if err.response["Error"]["Code"] == "NoSuchKey":
                return None
            raise

    def _ask(self, operation: str, **words: Any) -> dict[str, Any]:
        try:
            return getattr(self._gateways[0], operation)(Bucket=NAME, **words)
        except self.errors:
            self._gateways.append(self._gateways.pop(0))
            raise

    def close(self) -> None:
        pass


CLIENTS: dict[str, Callable[[Mapping[str, Any]], Client]] = {"rados": Rados, "rbd": Rbd, "cephfs": CephFS, "s3": S3}
