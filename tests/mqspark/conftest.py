"""Servers of remote files: S3 (moto) and our own WebHDFS server; a name server with a broker."""

from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from moto.server import ThreadedMotoServer

from mqserver.pytest_plugin import RocketMQ, running_pair
from mqspark.places import StorageDir
from tests.mqspark.everyjob import LIVE_COUNT
from tests.mqspark.livetopics import fill, make
from tests.mqspark.webhdfs import WebHdfs


@pytest.fixture
def orders() -> Iterator[RocketMQ]:
    """Yield a pair with the topics that ``everyjob`` reads and writes, for one run of it."""
    with running_pair() as started:
        make(started.namesrv, "Orders")
        fill(started.namesrv, "Orders", LIVE_COUNT)
        make(started.namesrv, "Sunk")
        yield started


@pytest.fixture
def place(tmp_path: Path) -> StorageDir:
    """Return a folder on this machine."""
    return StorageDir(str(tmp_path))


@pytest.fixture
def s3_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set what a program signs its requests with."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch, s3_keys: None) -> Iterator[str]:
    """Yield the URI of a folder in a bucket of a server that lives for this test."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        endpoint = f"http://{host}:{port}"
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        client = boto3.client("s3", endpoint_url=endpoint)
        client.create_bucket(Bucket="stores")
        yield "s3://stores/some/archive"
        # All servers of a process share what they keep.
        for item in client.list_objects_v2(Bucket="stores").get("Contents", []):
            client.delete_object(Bucket="stores", Key=item["Key"])
    finally:
        server.stop()


@pytest.fixture
def webhdfs(tmp_path: Path) -> Iterator[str]:
    """Yield the URI of a folder on a server that speaks WebHDFS."""
    with WebHdfs(tmp_path / "hdfs") as address:
        yield f"webhdfs://{address}/some/archive"
