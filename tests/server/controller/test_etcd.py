"""Controllers that share etcd: records, leadership, and what they do without an answer."""

import asyncio
from collections.abc import Iterator

import pytest

from mqserver.controller.etcd import EtcdClient
from mqserver.controller.group_store import StoreUnavailable
from mqserver.controller.groups_etcd import GroupsEtcd
from mqserver.controller.leadership import LeaseInEtcd
from tests import ports
from tests.server.controller.etcd_server import PROGRAM, FakeEtcd, fake_etcd, real_etcd
from tests.server.controller.examples import LED, PAIR
from tests.server.doubles import FakeClock

REAL = pytest.param("real", marks=pytest.mark.skipif(not PROGRAM, reason="needs etcd-server"))


@pytest.fixture(scope="module", params=["double", REAL])
def address(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    if request.param == "double":
        with fake_etcd() as (_, address):
            yield address
    else:
        with real_etcd(tmp_path_factory.mktemp("etcd")) as (_, address):
            yield address


def groups_at(address: str, prefix: str) -> GroupsEtcd:
    return GroupsEtcd(EtcdClient([address]), prefix=prefix)


async def test_records_are_read_as_they_were_written(address: str) -> None:
    store = groups_at(address, "/one")
    await store.open()
    assert (await store.read("g")).record is None
    assert await store.swap("g", PAIR, revision=0)
    assert await store.swap("g", LED, revision=(await store.read("g")).revision)

    assert (await store.read("g")).record == LED
    assert await store.read_all() == [LED]
    assert await store.swap("g", None, revision=(await store.read("g")).revision)
    assert await store.read_all() == []
    await store.close()


async def test_of_two_controllers_one_changes_a_record(address: str) -> None:
    first, second = groups_at(address, "/two"), groups_at(address, "/two")
    await first.swap("g", PAIR, revision=0)
    seen_by_first = await first.read("g")
    seen_by_second = await second.read("g")

    assert await second.swap("g", LED, revision=seen_by_second.revision)
    assert not await first.swap("g", None, revision=seen_by_first.revision)
    assert not await first.swap("g", PAIR, revision=0)
    await first.close()
    await second.close()


def leadership_at(address: str, prefix: str, clock: FakeClock, name: str) -> LeaseInEtcd:
    return LeaseInEtcd(EtcdClient([address]), prefix=prefix, address=name, clock=clock)


async def test_one_of_two_controllers_leads_until_it_resigns(address: str) -> None:
    clock = FakeClock()
    first = leadership_at(address, "/three", clock, "h:1")
    second = leadership_at(address, "/three", clock, "h:2")
    await first.renew()
    await second.renew()

    assert first.is_leader
    assert not second.is_leader
    assert second.leader_address == "h:1"

    await first.resign()
    await second.renew()
    assert not first.is_leader
    assert second.is_leader
    assert second.leader_address == "h:2"
    await second.resign()


async def test_a_lease_counts_from_the_moment_of_its_renewal(address: str) -> None:
    clock = FakeClock()
    leader = leadership_at(address, "/four", clock, "h:1")
    await leader.renew()

    clock.ms += 999
    assert leader.is_leader
    await leader.renew()
    clock.ms += 60_000
    assert not leader.is_leader
    await leader.resign()


async def test_a_controller_that_starts_again_leads_at_once() -> None:
    clock = FakeClock()
    with fake_etcd() as (_, address):
        before = leadership_at(address, "/r", clock, "h:1")
        await before.renew()
        again = leadership_at(address, "/r", clock, "h:1")
        await again.renew()

        assert again.is_leader


@pytest.mark.parametrize("listens", [True, False])
async def test_a_leader_is_replaced_before_its_lease_ends_only_if_its_port_refuses(
    listens: bool,
) -> None:
    clock = FakeClock()
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    name = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    with fake_etcd() as (_, address):
        leader = leadership_at(address, "/r", clock, name)
        await leader.renew()
        if not listens:
            server.close()
            await server.wait_closed()
        other = leadership_at(address, "/r", clock, "h:2")
        await other.renew()

        assert other.is_leader is not listens
        assert other.leader_address == (name if listens else "h:2")
    server.close()


@pytest.mark.parametrize("failure", ["refuse", "lose", "garbage"])
async def test_without_an_answer_the_outcome_is_not_known(failure: str) -> None:
    with fake_etcd() as (etcd, address):
        store = groups_at(address, "/r")
        etcd.fail = failure
        with pytest.raises(StoreUnavailable):
            await store.swap("g", PAIR, revision=0)
        with pytest.raises(StoreUnavailable):
            await store.read_all()
        etcd.fail = ""

        stored = await store.read("g")
        assert stored.record in ((None,) if failure == "refuse" else (PAIR,))
        await store.close()


def test_a_write_that_may_have_arrived_is_not_repeated_at_another_server() -> None:
    with fake_etcd() as (first, one), fake_etcd() as (second, other):
        client = EtcdClient([one, other])
        first.fail = "lose"
        with pytest.raises(StoreUnavailable):
            client.swap("/k", "v", mod_revision=0)
        assert second.calls == []

        assert client.get("/k") is None
        assert second.calls == ["/v3/kv/range"]


def test_a_server_that_is_gone_is_passed_over() -> None:
    with fake_etcd() as (_, address):
        gone = f"127.0.0.1:{ports.free_ports(1)}"
        client = EtcdClient([gone, address])

        assert client.swap("/k", "v", mod_revision=0)
        assert EtcdClient([gone, address]).get("/k") is not None


async def test_a_damaged_record_in_etcd_is_named() -> None:
    with fake_etcd() as (_, address):
        EtcdClient([address]).swap("/r/groups/g", "{}", mod_revision=0)
        store = groups_at(address, "/r")

        with pytest.raises(StoreUnavailable, match="g in etcd is damaged"):
            await store.read("g")
        await store.close()


async def test_a_leader_without_etcd_stops_leading(caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock()
    with fake_etcd() as (etcd, address):
        leader = leadership_at(address, "/r", clock, "h:1")
        await leader.renew()
        etcd.fail = "refuse"
        await leader.renew()
        assert leader.is_leader
        clock.ms += 2_000
        await leader.renew()

    assert not leader.is_leader
    assert leader.leader_address is None
    assert caplog.text.count("etcd does not answer") == 1


async def test_a_lease_that_ended_is_replaced() -> None:
    clock = FakeClock()
    with fake_etcd() as (etcd, address):
        leader = leadership_at(address, "/r", clock, "h:1")
        await leader.renew()
        lose_leases(etcd)
        await leader.renew()

        assert leader.is_leader
        await leader.resign()


def lose_leases(etcd: FakeEtcd) -> None:
    for lease in list(etcd.leases):
        etcd.end_lease(lease)
