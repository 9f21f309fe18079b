"""What jobs are told of the servers: options in their words, secrets in their environment."""

from collections.abc import Mapping
from typing import Any, cast

import pytest

from mqadmin.output.rows import Outcome, Row
from mqadmin.session.call import Call
from mqadmin.session.link import ServerTarget
from mqadmin.session.tls_files import TlsFiles
from mqadmin.store_access import spark_job
from mqadmin.store_access.spark_job import Engine, run_live_job

TARGET = ServerTarget(
    "127.0.0.1:9876", 3.0, "me", "mine", tls=TlsFiles("ca.pem", "c.pem", "k.pem", "pw")
)


WHERE = Engine(engine="spark", master="local[*]", parquet=None)


def told(
    monkeypatch: pytest.MonkeyPatch, target: ServerTarget
) -> tuple[dict[str, Any], dict[str, str]]:
    seen: list[tuple[dict[str, Any], dict[str, str]]] = []

    def run(
        *_: object, options: Mapping[str, str], secrets: Mapping[str, str], **__: object
    ) -> Outcome:
        seen.append((dict(options), dict(secrets)))
        return Outcome(iter(()))

    monkeypatch.setattr(spark_job, "_run_process", run)
    given = {"subscribe": "orders"}
    run_live_job(cast(Call, None), "archive", "out", WHERE, row=Row, options=given, target=target)
    return seen[0]


def test_tls_is_options_and_secrets_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    options, secrets = told(monkeypatch, TARGET)

    assert options == {
        "subscribe": "orders",
        "namesrv": "127.0.0.1:9876",
        "timeoutMs": "3000",
        "tls": "true",
        "tlsCa": "ca.pem",
        "tlsCert": "c.pem",
        "tlsKey": "k.pem",
    }
    assert secrets == {
        "MQADMIN_ACCESS_KEY": "me",
        "MQADMIN_SECRET_KEY": "mine",
        "MQADMIN_TLS_KEY_PASSWORD": "pw",
    }


def test_an_address_map_is_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = (("a:1", "b:2"), ("c:3", "d:4"))
    mapped = ServerTarget("127.0.0.1:9876", 3.0, None, None, address_map=pairs)

    options, _ = told(monkeypatch, mapped)

    assert options["addressMap"] == "a:1=b:2,c:3=d:4"
