"""What our mqadmin changes and undoes on the real servers and on ours, and what it reads there."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.interop.kit.our_clients import await_dispatched
from tests.interop.kit.our_mqadmin import OurMqadmin, Row
from tests.interop.kit.servers import Broker, JavaSide, OurSide, Servers, guarded_broker
from tests.interop.kit.toolbox import Toolbox, spec_of
from tests.waiting import eventually, wait

ADMIN, SECRET, NEW = "interopAdmin", "adminSecret", "brandNewSecret"


class SecretMqadmin(OurMqadmin):
    """Our mqadmin that is not asked back, and tells no secret."""

    def text(self, *words: str, exit_code: int = 0, stdin: str = "") -> str:
        said = super().text(*words, "-y", exit_code=exit_code, stdin=stdin)
        assert SECRET not in said + self.err
        assert NEW not in said + self.err
        return said


@pytest.fixture
def ask(servers: Servers, tmp_path: Path) -> SecretMqadmin:
    """Return a function that runs one line on the servers, with a journal of its own."""
    return SecretMqadmin(servers.namesrv.address, {"HOME": str(tmp_path)})


def results(rows: list[Row]) -> set[str]:
    return {row["result"] for row in rows}


def test_topics_are_changed_and_come_back(ask: SecretMqadmin, servers: Servers) -> None:
    topic, broker = "AdmTopic", servers.broker.address
    where = ("--broker", broker)
    ask("topic", "create", topic, "-q", "2", *where)

    taken = ask("topic", "perm", topic, "R", *where)[0]
    assert (taken["perm"], taken["was"], taken["read_queues"]) == ("R--", {"perm": 6}, 2)
    assert results(ask("topic", "perm", topic, "R", *where)) == {"unchanged"}
    assert results(ask("undo")) == {"changed"}
    assert ask("topic", "perm", topic, "RW", *where)[0]["result"] == "unchanged"
    assert ask("topic", "clusters", topic)[0]["brokers"] == [servers.broker.name]
    assert results(ask("topic", "order-conf", topic, "a:1;b:2")) == {"changed"}
    assert ask("updateOrderConf", "-t", topic, "-m", "get")[0]["order_conf"] == "a:1;b:2"
    assert results(ask("topic", "order-conf", topic, "--method", "delete")) == {"changed"}
    ask("topic", "order-conf", topic, exit_code=3)
    assert results(ask("topic", "delete", topic)) == {"changed"}
    assert results(ask("undo", "--dry-run")) == {"would change"}
    assert results(ask("undo")) == {"changed"}
    assert results(ask("topic", "create", topic, "-q", "2", *where)) == {"unchanged"}


def test_an_ordered_topic_is_applied_exported_and_learnt_by_the_broker(
    ask: SecretMqadmin, servers: Servers, tmp_path: Path
) -> None:
    topic, broker = "AdmApplied", servers.broker.name
    file = tmp_path / "cluster.yaml"
    settings = {"read_queues": 2, "write_queues": 2, "perm": "RW-", "order": True}
    file.write_text(yaml.safe_dump({"topics": {topic: {broker: settings}}}))

    def ordered() -> bool:
        exported: bool = ask("export")[0]["topics"][topic]["*"]["order"]
        return exported

    def learnt() -> bool:
        ask("export", "metadata", "--directory", str(tmp_path))
        told = json.loads((tmp_path / "metadata.json").read_text())["topicConfigTable"]
        is_ordered: bool = told[topic]["order"]
        return is_ordered

    assert results(ask("apply", str(file), "--dry-run")) == {"would change"}
    assert results(ask("apply", str(file))) == {"changed"}
    assert results(ask("apply", str(file))) == {"unchanged"}
    assert ordered()
    assert ask("topic", "order-conf", topic)[0]["order_conf"] == f"{broker}:2"
    # A broker asks the name server whenever it registers: now, since another topic is made.
    ask("topic", "create", f"{topic}Next", "-q", "1", "--broker", broker)
    wait(learnt)
    file.write_text(yaml.safe_dump({"topics": {topic: {broker: settings | {"order": False}}}}))
    assert ask("diff", str(file), exit_code=1)
    assert results(ask("apply", str(file))) == {"changed", "unchanged"}
    assert not ordered()
    ask("topic", "order-conf", topic, exit_code=3)


def test_groups_are_changed_deleted_and_come_back(ask: SecretMqadmin, servers: Servers) -> None:
    topic, group, where = "AdmGroupTopic", "AdmGroup", ("--broker", servers.broker.address)
    ask("topic", "create", topic, "-q", "1", *where)
    ask("message", "send", topic, "m")
    await_dispatched(servers)

    assert ask("group", "create", group, "--retry-max", "3", *where)[0]["result"] == "changed"
    updated = ask("updateSubGroup", "-b", servers.broker.address, "-g", group, "-s", "false")[0]
    assert (updated["consume_enable"], updated["retry_max_times"]) == (False, 3)
    replaced = ask("group", "update", group, "--replace", *where)[0]
    assert (replaced["retry_max_times"], replaced["consume_broadcast_enable"]) == (16, False)
    assert results(ask("undo")) == {"changed"}
    assert ask("group", "config", group)[0]["retry_max_times"] == 3
    ask("offset", "reset", group, topic, "--to", "latest")
    assert results(ask("group", "delete", group, "--offsets", *where)) == {"changed"}
    ask("group", "config", group, exit_code=3)
    ask("offset", "show", group, exit_code=3)
    assert results(ask("undo")) == {"changed"}
    assert ask("offset", "show", group, topic)[0]["consumer_offset"] == 1
    assert [row["group"] for row in ask("topic", "consumers", topic)] == [group]
    paces = ask("statsAll", "-t", topic)
    assert [(row["group"], row["lag"]) for row in paces] == [(group, 0)]


def test_settings_of_servers_are_changed_and_come_back(
    ask: SecretMqadmin, servers: Servers
) -> None:
    where = ("-b", servers.broker.address)
    (before,) = ask("broker", "config", "get", "shortPollingTimeMills", *where)
    (made,) = ask("broker", "config", "set", "shortPollingTimeMills", "1234", *where)

    assert (made["old_value"], made["value"], made["result"]) == (
        *(before["value"], "1234", "changed"),
    )
    assert results(ask("undo")) == {"changed"}
    assert ask("broker", "config", "get", "shortPollingTimeMills", *where) == [before]
    # A Java broker would say that it did it.
    missing = ask("broker", "config", "set", "noSuchKey", "1", *where, exit_code=3)
    assert results(missing) == {"not found"}
    (ordered,) = ask("namesrv", "config", "get", "orderMessageEnable")
    flipped = "false" if ordered["value"] == "true" else "true"
    assert ask("updateNamesrvConfig", "-k", "orderMessageEnable", "-v", flipped)[0]["value"] == (
        flipped
    )
    assert results(ask("undo")) == {"changed"}
    assert results(ask("namesrv", "kv", "set", "adm", "k", "v")) == {"changed"}
    assert results(ask("deleteKvConfig", "-s", "adm", "-k", "k")) == {"changed"}
    assert results(ask("undo")) == {"changed"}
    assert ask("namesrv", "kv", "get", "adm")[0]["value"] == "v"


def test_write_permission_is_wiped_and_given_back(ask: SecretMqadmin, servers: Servers) -> None:
    name = servers.broker.name

    wiped = ask("broker", "write-perm", "wipe", name)
    again = ask("wipeWritePerm", "-b", name)
    given = ask("addWritePerm", "-b", name)

    assert [(row["was_writable"], row["writable"]) for row in wiped] == [(True, False)]
    assert (results(wiped), results(again), results(given)) == (
        *({"changed"}, {"unchanged"}, {"changed"}),
    )
    ask("broker", "write-perm", "wipe", "no-such-broker", exit_code=3)


def test_brokers_are_cleaned_and_tell_their_numbers(ask: SecretMqadmin, servers: Servers) -> None:
    where = ("-b", servers.broker.address)
    for verb in ("expired-queues", "unused-topics", "expired-log"):
        assert results(ask("broker", "clean", verb, *where)) == {"done"}, verb
    ask("topic", "create", "AdmNumbers", "-q", "1", "--broker", servers.broker.address)
    ask("message", "send", "AdmNumbers", "m")

    async def status() -> set[str]:
        try:
            return {row["key"] for row in ask("broker", "status", *where)}
        except AssertionError:
            return set()

    # A Java broker answers "NoSuchElementException" until it has taken its first samples.
    keys = asyncio.run(eventually(status, bool))
    assert {"putTps", "commitLogDiskRatio", "msgPutTotalTodayNow"} <= keys
    spans = ask("broker", "stats", "TOPIC_PUT_NUMS", "AdmNumbers", *where)
    assert [row["span"] for row in spans] == ["minute", "hour", "day"]
    ask("broker", "stats", "TOPIC_PUT_NUMS", "AdmNever", *where, exit_code=3)
    ask("brokerConsumeStats", *where)
    (mine,) = [row for row in ask("cluster", "status") if row["address"] == where[1]]
    assert mine["in_today"] >= 1
    cluster = ask("cluster", "list")[0]["cluster"]
    (trip,) = ask("cluster", "rt", "--count", "2", "--cluster", cluster)
    assert (trip["sent"], trip["failed"]) == (2, 0)
    assert ask("acl", "list", *where, exit_code=1) == []


def test_a_java_client_is_seen_and_tells_its_inside(
    ask: SecretMqadmin, servers: Servers, toolbox: Toolbox
) -> None:
    topic, group = "AdmRunning", "AdmRunningGroup"
    ask("topic", "create", topic, "-q", "2", "--broker", servers.broker.address)
    ask("message", "send", topic, "m", "--queue", "0")
    spec = spec_of(servers, topic, group=group, linger=True, count=1)
    job = toolbox.start("PushConsumer", spec)
    client_id = job.until("started")[-1]["clientId"]
    job.messages(1)

    (member,) = ask("consumerStatus", "-g", group, "-i", client_id, "-s")
    connected = ask("broker", "connections", "--kind", "consumer", "-g", group)

    held = {(queue["topic"], queue["queue_id"]) for queue in member["queues"]}
    assert {(topic, 0), (topic, 1)} <= held
    assert (member["subscriptions"][topic], member["error"]) == ("*", None)
    assert "ConsumeMessageThread" in member["jstack"]
    assert {row["client_id"] for row in connected} == {client_id}
    assert ask("topic", "consumers", topic)[0]["members"] == 1
    job.stop()


@pytest.fixture(scope="module")
def accounts(
    servers: Servers, java_side: JavaSide, our_side: OurSide, tmp_path_factory: Any
) -> Iterator[Broker]:
    """Yield a broker with accounts, the real one and then ours."""
    side = our_side if servers.are_ours else java_side
    accounts = {"accounts": [{"accessKey": ADMIN, "secretKey": SECRET, "admin": True}]}
    namesrv, store = servers.namesrv.address, tmp_path_factory.mktemp("accounts") / "store"
    with guarded_broker(side, accounts, name="accounts", namesrv=namesrv, store=store) as broker:
        yield broker


def test_accounts_are_changed_and_come_back(
    servers: Servers, accounts: Broker, tmp_path: Path
) -> None:
    keys = {"MQADMIN_ACCESS_KEY": ADMIN, "MQADMIN_SECRET_KEY": SECRET}
    ask = SecretMqadmin(servers.namesrv.address, {"HOME": str(tmp_path), **keys})
    where = ("-b", accounts.address)

    made = ask("acl", "set", "admAccount", "--secret", NEW, "--topic-perm", "T=PUB|SUB", *where)
    assert (results(made), made[0]["topic_perms"]) == ({"changed"}, ["T=PUB|SUB"])
    known = ("--secret", NEW) if servers.are_ours else ()
    changed = ask("acl", "set", "admAccount", "--default-topic-perm", "PUB", *known, *where)[0]
    assert (changed["default_topic_perm"], changed["topic_perms"]) == ("PUB", ["T=PUB|SUB"])
    assert results(ask("undo")) == {"changed"}
    assert ask("acl", "show", "admAccount", *where)[0]["default_topic_perm"] in (None, "DENY")
    assert ADMIN in {row["access_key"] for row in ask("getAclConfig", *where)}
    assert ask("clusterAclConfigVersion", *where)[0]["file"].endswith("plain_acl.yml")
    assert ask("acl", "white-addr", "10.9.9.1", *where)[0]["patterns"] == ["10.9.9.1"]
    assert results(ask("undo")) == {"changed"}
    assert ask("acl", "white-addr", *where)[0]["patterns"] == []
    assert results(ask("acl", "delete", "admAccount", *where)) == {"changed"}
    ask("acl", "show", "admAccount", *where, exit_code=3)
    # The real broker told the secret, ours hides it.
    assert results(ask("undo", exit_code=1 if servers.are_ours else 0)) == {
        "refused" if servers.are_ours else "changed"
    }
