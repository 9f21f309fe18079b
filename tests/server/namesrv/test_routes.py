"""The routing table after each kind of event, at times that the test sets."""

import pytest

from mqserver.namesrv import routes
from mqserver.namesrv.registrars import Registrar, RegistrarLimits
from mqserver.namesrv.routes import (
    BROKER_EXPIRES_MS,
    BadRegistration,
    LostBroker,
    Master,
    OldEpoch,
    RouteTable,
    UnitTopics,
    announce,
)
from remoting.headers import HaEpoch, RegisterBroker
from storefmt.config.tables import DataVersion, TopicConfig
from tests.server.namesrv.desk import finished, registration

V1, V2 = DataVersion(1000, 1), DataVersion(1000, 2)
MASTER, SLAVE = "10.0.0.1:10911", "10.0.0.2:10911"


def broker(address: str = MASTER, **changes: object) -> RegisterBroker:
    ha_address = address.replace("10911", "10912")
    own = {"ha_server_addr": ha_address, "broker_id": 0 if address == MASTER else 1}
    return registration(address, **{**own, **changes})


def topics(*names: str, **changes: object) -> dict[str, TopicConfig]:
    return {name: TopicConfig(name, 4, 4, **changes) for name in names}  # type: ignore[arg-type]


def register(table: RouteTable, who: RegisterBroker, what=None, version=V1, **options) -> Master:
    options.setdefault("conn_id", 1)
    options.setdefault("now_ms", 0)
    announced = announce(topics("T") if what is None else what)
    return finished(table.register(who, announced, version, **options))


@pytest.fixture
def table() -> RouteTable:
    """Return a table of no broker."""
    return RouteTable()


@pytest.fixture
def pair() -> RouteTable:
    """Return a table of a master, on connection 1, and its slave, on connection 2."""
    table = RouteTable()
    register(table, broker(MASTER), topics("T", "a", "C"), conn_id=1)
    register(table, broker(SLAVE), {}, conn_id=2)
    return table


def addresses(table: RouteTable, topic: str = "T") -> dict[int, str]:
    route = table.route(topic)
    return {} if route is None else route.broker_datas[0].broker_addrs


def perms(table: RouteTable, topic: str = "T") -> list[int]:
    route = table.route(topic)
    return [] if route is None else [queue.perm for queue in route.queue_datas]


def test_a_registered_topic_has_a_route(table: RouteTable) -> None:
    register(table, broker(), topics("T"))

    route = table.route("T")
    (queues,), (data,) = route.queue_datas, route.broker_datas
    assert (queues.broker_name, queues.read_queue_nums, queues.perm) == ("a", 4, 6)
    assert (data.cluster, data.broker_name, data.broker_addrs) == ("C", "a", {0: MASTER})
    assert table.route("U") is None


def test_a_slave_is_told_its_master_and_a_master_nothing(table: RouteTable) -> None:
    assert register(table, broker(SLAVE)) == Master(None, None)
    assert register(table, broker(MASTER)) == Master(None, None)
    assert register(table, broker(SLAVE)) == Master(MASTER, "10.0.0.1:10912")


def test_topics_of_a_slave_do_not_count(table: RouteTable) -> None:
    register(table, broker(SLAVE), topics("T"))

    assert table.route("T") is None


def test_topics_are_taken_only_when_the_data_version_differs(table: RouteTable) -> None:
    register(table, broker(), topics("T"))

    register(table, broker(), topics("T", perm=4))
    same = perms(table)
    register(table, broker(), topics("T", perm=4), V2)

    assert (same, perms(table)) == ([6], [4])


def test_an_older_data_version_counts_as_changed_too(table: RouteTable) -> None:
    register(table, broker(), topics("T"), V2)

    register(table, broker(), topics("T", perm=4), V1)

    assert perms(table) == [4]


def test_a_broker_that_comes_back_registers_its_topics_again(table: RouteTable) -> None:
    register(table, broker())
    table.connection_closed(1)

    register(table, broker(), topics("T"), V1, conn_id=2)

    assert addresses(table) == {0: MASTER}


def test_registration_never_removes_a_topic(table: RouteTable) -> None:
    register(table, broker(), topics("T", "U"))

    register(table, broker(), topics("U"), V2)

    assert table.topics().topic_list == ["T", "U"]


def test_a_slave_that_became_the_master_leaves_its_old_place(pair: RouteTable) -> None:
    pair.unregister("C", "a", broker_id=0, address=MASTER)

    register(pair, broker(SLAVE, broker_id=0), topics("T"), conn_id=2)

    assert addresses(pair) == {0: SLAVE}


def test_unregister_forgets_the_address_and_with_the_last_one_the_topics(pair: RouteTable) -> None:
    pair.unregister("C", "a", broker_id=0, address=MASTER)
    slave_only = addresses(pair)
    pair.unregister("C", "a", broker_id=1, address=SLAVE)

    assert slave_only == {1: SLAVE}
    assert pair.route("T") is None
    assert pair.topics().topic_list == []
    assert pair.cluster_info().cluster_addr_table == {}


def test_a_late_unregister_does_not_drop_who_took_over(pair: RouteTable) -> None:
    register(pair, broker("10.0.0.9:10911", broker_id=0), topics("T"), conn_id=3)

    pair.unregister("C", "a", broker_id=0, address=MASTER)

    assert addresses(pair)[0] == "10.0.0.9:10911"


def test_unregister_of_an_unknown_broker_changes_nothing(pair: RouteTable) -> None:
    pair.unregister("C", "nobody", broker_id=0, address="1.1.1.1:1")
    pair.unregister("X", "a", broker_id=7, address=MASTER)

    assert addresses(pair) == {0: MASTER, 1: SLAVE}


def test_a_closed_connection_drops_its_broker_at_once(pair: RouteTable) -> None:
    assert pair.connection_closed(1) == [LostBroker(MASTER, 1)]

    assert addresses(pair) == {1: SLAVE}
    assert pair.connection_closed(99) == []


def test_closing_the_old_connection_of_a_reconnected_broker_drops_nothing(pair: RouteTable) -> None:
    register(pair, broker(), conn_id=3)

    assert pair.connection_closed(1) == []

    assert addresses(pair) == {0: MASTER, 1: SLAVE}


def test_a_broker_expires_after_two_silent_minutes(pair: RouteTable) -> None:
    assert pair.expire(BROKER_EXPIRES_MS) == []
    register(pair, broker(SLAVE), {}, conn_id=2, now_ms=BROKER_EXPIRES_MS)
    assert pair.expire(BROKER_EXPIRES_MS + 1) == [LostBroker(MASTER, 1)]
    assert addresses(pair) == {1: SLAVE}


def test_a_broker_that_only_asks_for_its_version_stays(pair: RouteTable) -> None:
    pair.touch(MASTER, BROKER_EXPIRES_MS)
    pair.touch("1.1.1.1:1", BROKER_EXPIRES_MS)

    assert [lost.address for lost in pair.expire(BROKER_EXPIRES_MS + 1)] == [SLAVE]


def test_data_version_of_the_last_registration(pair: RouteTable) -> None:
    assert pair.data_version(MASTER) == V1
    assert pair.data_version("1.1.1.1:1") is None
    assert not pair.is_changed(MASTER, V1)
    assert pair.is_changed(MASTER, V2)
    assert pair.is_changed("1.1.1.1:1", V1)


def test_wipe_takes_the_write_bit_until_topics_are_registered_anew(pair: RouteTable) -> None:
    assert finished(pair.wipe_write_perm("a")) == 3
    assert perms(pair) == [4]
    assert finished(pair.wipe_write_perm("nobody")) == 0
    register(pair, broker(), topics("T"), V2)
    assert perms(pair) == [6]


def test_add_write_perm_gives_exactly_six(table: RouteTable) -> None:
    register(table, broker(), topics("TBW102", perm=7))

    assert finished(table.add_write_perm("a")) == 1

    assert perms(table, "TBW102") == [6]


def test_delete_topic_everywhere_or_in_one_cluster(pair: RouteTable) -> None:
    other = broker("10.0.1.1:10911", broker_name="b", cluster_name="D", broker_id=0)
    register(pair, other, topics("T", "U"), conn_id=3)

    pair.delete_topic("T", "C")
    left = pair.route("T")
    pair.delete_topic("T", "D")
    pair.delete_topic("U")
    pair.delete_topic("nothing")
    pair.delete_topic("a", "nowhere")

    assert [queue.broker_name for queue in left.queue_datas] == ["b"]
    assert pair.topics().topic_list == ["a", "C"]


def test_topics_of_cluster(pair: RouteTable) -> None:
    other = broker("10.0.1.1:10911", broker_name="b", cluster_name="D", broker_id=0)
    register(pair, other, topics("U"), conn_id=3)

    assert pair.topics_of_cluster("D").topic_list == ["U"]
    assert pair.topics_of_cluster("C").topic_list == ["T", "a", "C"]
    assert pair.topics_of_cluster("nowhere").topic_list == []


def test_system_topics_are_clusters_brokers_and_one_address(pair: RouteTable) -> None:
    assert RouteTable().system_topics().broker_addr is None

    answer = pair.system_topics()

    assert (answer.topic_list, answer.broker_addr) == (["C", "a"], MASTER)


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        (UnitTopics.UNIT, ["unit", "both"]),
        (UnitTopics.UNIT_SUB, ["sub", "both"]),
        (UnitTopics.UNIT_SUB_NOT_UNIT, ["sub"]),
    ],
)
def test_unit_topics_by_their_flags(
    table: RouteTable, unit: UnitTopics, expected: list[str]
) -> None:
    flags = {"none": 0, "unit": 1, "sub": 2, "both": 3}
    register(
        table,
        broker(),
        {name: TopicConfig(name, topic_sys_flag=flag) for name, flag in flags.items()},
    )

    assert table.unit_topics(unit).topic_list == expected


def test_cluster_info_has_every_broker_and_cluster(pair: RouteTable) -> None:
    info = pair.cluster_info()

    assert info.broker_addr_table["a"].broker_addrs == {0: MASTER, 1: SLAVE}
    assert info.cluster_addr_table == {"C": ["a"]}


def test_filter_servers_come_with_the_route(table: RouteTable) -> None:
    register(table, broker(), filter_servers=("10.0.0.1:30001",))

    assert table.route("T").filter_server_table == {MASTER: ["10.0.0.1:30001"]}


@pytest.mark.parametrize(
    "changes",
    [
        {"broker_name": ""},
        {"broker_name": " a"},
        {"broker_name": "a\n"},
        {"broker_name": "a" * 256},
        {"cluster_name": ""},
        {"broker_addr": "nowhere"},
        {"broker_addr": "1.1.1.1:x"},
        {"broker_addr": "1.1.1.1:70000"},
        {"ha_server_addr": "1.1.1.1"},
        {"broker_id": -1},
    ],
)
def test_what_cannot_be_a_broker_is_refused_and_changes_nothing(table: RouteTable, changes) -> None:
    with pytest.raises(BadRegistration):
        register(table, broker(**changes))

    assert table.topics().topic_list == []
    assert table.cluster_info().cluster_addr_table == {}


@pytest.mark.parametrize("name", ["", "a\0b", " T", "t" * 256])
def test_what_cannot_be_a_topic_is_refused(table: RouteTable, name: str) -> None:
    with pytest.raises(BadRegistration, match="topic is"):
        register(table, broker(), {name: TopicConfig(name)})

    assert table.cluster_info().cluster_addr_table == {}


def test_a_host_name_with_dots_is_a_topic_too(table: RouteTable) -> None:
    register(table, broker(broker_name="mq-1.example.org"), topics("mq-1.example.org"))

    assert table.topics().topic_list == ["mq-1.example.org"]


def promoted(table: RouteTable) -> None:
    """Let the slave of a pair become the master, with epoch 7."""
    register(table, broker(SLAVE, broker_id=0), conn_id=2, epoch=HaEpoch(ha_epoch=7))


def test_master_with_a_lower_epoch_does_not_take_the_place_back(pair: RouteTable) -> None:
    promoted(pair)

    with pytest.raises(OldEpoch, match=r"epoch 0, but a broker of this name has reported epoch 7"):
        register(pair, broker(MASTER))

    assert addresses(pair) == {0: SLAVE}
    assert pair.epoch("a").ha_epoch == 7


def test_master_that_is_still_there_loses_its_place_when_a_slave_tells_a_higher_epoch(
    pair: RouteTable,
) -> None:
    register(pair, broker(SLAVE), {}, conn_id=2, epoch=HaEpoch(ha_epoch=7))

    with pytest.raises(OldEpoch):
        register(pair, broker(MASTER))

    assert addresses(pair) == {1: SLAVE}


def test_a_master_that_goes_while_its_topics_are_taken_in_leaves_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(routes, "TOPICS_PER_SLICE", 1)
    table = RouteTable()
    names = routes.announce(topics("T", "U", "V"))
    steps = table.register(broker(MASTER), names, V1, conn_id=1, now_ms=0)

    while not table.topic_count:
        next(steps)
    table.unregister("C", "a", broker_id=0, address=MASTER)
    with pytest.raises(BadRegistration, match="was forgotten while it registered"):
        next(steps)

    assert (table.topic_count, table.data_version(MASTER)) == (0, None)


def test_old_master_is_refused_while_the_new_one_is_away(pair: RouteTable) -> None:
    promoted(pair)
    pair.connection_closed(1)
    pair.connection_closed(2)

    with pytest.raises(OldEpoch):
        register(pair, broker(MASTER))

    assert pair.route("T") is None


@pytest.mark.parametrize("epoch", [7, 8])
def test_master_with_the_same_or_a_higher_epoch_takes_the_place(
    pair: RouteTable, epoch: int
) -> None:
    promoted(pair)

    register(pair, broker(MASTER), epoch=HaEpoch(ha_epoch=epoch))

    assert addresses(pair)[0] == MASTER


def elected(epoch: int) -> DataVersion:
    return DataVersion(1000, 1, {"stateVersion": epoch})


@pytest.mark.parametrize(("epoch", "holder"), [(1, SLAVE), (2, MASTER), (3, MASTER)])
def test_a_master_of_an_older_election_does_not_take_the_place_back(
    table: RouteTable, epoch: int, holder: str
) -> None:
    register(table, broker(MASTER), version=elected(1))
    register(table, broker(SLAVE, broker_id=0), version=elected(2))

    if holder == SLAVE:
        with pytest.raises(BadRegistration, match=r"stateVersion 1, and 10\.0\.0\.2:10911 has 2"):
            register(table, broker(MASTER), version=elected(epoch))
    else:
        register(table, broker(MASTER), version=elected(epoch))

    assert addresses(table) == {0: holder}


def test_old_master_is_welcome_as_a_slave(pair: RouteTable) -> None:
    promoted(pair)

    register(pair, broker(MASTER, broker_id=1), {})

    assert addresses(pair) == {0: SLAVE, 1: MASTER}


def test_epoch_of_one_name_says_nothing_of_another(pair: RouteTable) -> None:
    promoted(pair)

    register(pair, broker("10.0.0.9:10911", broker_name="b", broker_id=0))

    assert addresses(pair)[0] == SLAVE


def test_epochs_are_kept_of_so_many_names_and_of_the_last_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(routes, "EPOCHS_MAX", 3)
    table = RouteTable()

    for number in range(5):
        register(table, broker(broker_name=f"b{number}"), epoch=HaEpoch(ha_epoch=7))

    assert [table.epoch(f"b{number}").ha_epoch for number in range(5)] == [0, 0, 7, 7, 7]


# Who may register what.

NEAR = Registrar("127.0.0.1", is_listed=False, may_tell_epoch=True)
STRANGER = Registrar("127.0.0.9", is_listed=False, may_tell_epoch=True)
LISTED = Registrar("10.0.0.2", is_listed=True, may_tell_epoch=True)
OPEN = Registrar("192.0.2.7", is_listed=True, may_tell_epoch=False)


def test_registrar_that_is_not_listed_touches_nothing_of_others(table: RouteTable) -> None:
    register(table, broker(MASTER), registrar=NEAR)
    before = table.cluster_info()

    for who in (
        broker("127.0.0.9:1", broker_id=0),
        broker("127.0.0.9:1", broker_id=7),
        broker(MASTER, broker_name="other"),
    ):
        with pytest.raises(BadRegistration, match=r"was registered from 127\.0\.0\.1"):
            register(table, who, conn_id=9, registrar=STRANGER)
    with pytest.raises(BadRegistration, match="add both to brokerAddresses"):
        table.unregister("C", "a", broker_id=0, address=MASTER, registrar=STRANGER)
    table.touch(MASTER, 1_000_000, registrar=STRANGER)

    assert table.cluster_info() == before
    assert [lost.address for lost in table.expire(1_000_000)] == [MASTER]


def test_listed_registrar_replaces_a_broker_of_another_machine(table: RouteTable) -> None:
    register(table, broker(MASTER), registrar=NEAR)

    register(table, broker("10.0.0.2:10911", broker_id=0), conn_id=2, registrar=LISTED)

    assert table.cluster_info().broker_addr_table["a"].broker_addrs == {0: "10.0.0.2:10911"}


def test_one_registrar_has_so_many_brokers() -> None:
    table = RouteTable(RegistrarLimits(broker_count=2))
    for number in range(2):
        who = broker(f"10.0.0.1:{number + 1}", broker_name=f"b{number}")
        register(table, who, registrar=NEAR)

    with pytest.raises(BadRegistration, match=r"registered 2 brokers.*registeredBrokerCountMax"):
        register(table, broker("10.0.0.1:3", broker_name="b3"), registrar=NEAR)
    register(table, broker("10.0.0.1:1", broker_name="b0"), registrar=NEAR)
    register(table, broker("10.0.0.1:3", broker_name="b3"), registrar=LISTED)

    assert sorted(table.cluster_info().broker_addr_table) == ["b0", "b1", "b3"]


@pytest.mark.parametrize(
    ("limits", "setting"),
    [
        (RegistrarLimits(topic_count=3), "registeredTopicCountMax"),
        (RegistrarLimits(size=3 * (routes.TOPIC_SIZE + 1)), "registeredSizeMax"),
    ],
)
def test_one_registrar_has_so_many_topics_over_all_registrations(
    limits: RegistrarLimits, setting: str
) -> None:
    table = RouteTable(limits)
    register(table, broker(), topics("T", "U", "V"), registrar=NEAR)

    with pytest.raises(BadRegistration, match=setting):
        register(table, broker(), topics("W"), V2, registrar=NEAR)
    table.delete_topic("T")
    register(table, broker(), topics("W"), V2, registrar=NEAR)

    assert sorted(table.topics().topic_list) == ["U", "V", "W"]


def test_cluster_names_and_filter_servers_of_one_broker_are_limited(table: RouteTable) -> None:
    for number in range(routes.CLUSTERS_MAX):
        register(table, broker(cluster_name=f"c{number}"))

    with pytest.raises(BadRegistration, match="is registered in 16 clusters"):
        register(table, broker(cluster_name="one more"))
    with pytest.raises(BadRegistration, match="addresses of filter servers"):
        register(table, broker(cluster_name="c0"), filter_servers=("x" * 70_000,))


def test_epoch_of_a_stranger_is_not_kept_where_everybody_may_register(table: RouteTable) -> None:
    register(table, broker(MASTER), epoch=HaEpoch(ha_epoch=7), registrar=OPEN)

    assert table.epoch("a").ha_epoch == 0


def test_epoch_far_beyond_the_clock_registers_nothing(table: RouteTable) -> None:
    with pytest.raises(BadRegistration, match="lies beyond the clock of the name server"):
        register(table, broker(), epoch=HaEpoch(ha_epoch=4_000_000_000_000))

    assert table.cluster_info().broker_addr_table == {}


def test_one_registrar_cannot_push_out_the_epochs_of_others(
    table: RouteTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "EPOCHS_OF_REGISTRAR_MAX", 3)
    register(table, broker(broker_name="victim"), epoch=HaEpoch(ha_epoch=7), registrar=LISTED)
    for number in range(5):
        who = broker(f"127.0.0.1:{number + 1}", broker_name=f"b{number}")
        register(table, who, epoch=HaEpoch(ha_epoch=7), registrar=NEAR)

    assert table.epoch("victim").ha_epoch == 7
    assert [table.epoch(f"b{number}").ha_epoch for number in range(5)] == [0, 0, 7, 7, 7]
