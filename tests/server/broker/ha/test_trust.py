"""Strangers that a name server has under a broker's name, on the HA port, and beside a slave."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mqserver.broker.config import BrokerConfig, BrokerRole
from mqserver.broker.ha.epoch import Standing
from mqserver.broker.ha.frames import REPORT
from mqserver.broker.ha.trust import Trust
from remoting.acl import SIGNATURE
from remoting.codes import ExtensionCode, RequestCode
from remoting.command import Command
from remoting.frame import FrameReader, decode_frame, encode_frame
from remoting.headers import GetEpoch, GetEpochResponse, HaEpoch
from remoting.signing import ACCESS_FOR
from remoting.toolskeys import TOOLS_FILE
from tests.server.broker.acl.homes import ADMIN, SECRETS, write_home
from tests.server.broker.ha.pairs import Pair, pair_in
from tests.server.broker.ha.test_fence import FUTURE, standing
from tests.server.namesrv.desk import registration
from tests.waiting import until

ASYNC, SLAVE = BrokerRole.ASYNC_MASTER, BrokerRole.SLAVE
Reply = Callable[[Command], Command | None]


@asynccontextmanager
async def stranger(reply: Reply) -> AsyncIterator[tuple[str, list[Command]]]:
    """Run somebody who answers every request with ``reply``; yield the address and requests."""
    seen: list[Command] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        frames = FrameReader()
        while data := await reader.read(65_536):
            for raw in frames.feed(data):
                seen.append(decode_frame(raw))
                answer = reply(seen[-1])
                if answer is not None:
                    writer.write(encode_frame(answer))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.9", 0)
    try:
        yield f"127.0.0.9:{server.sockets[0].getsockname()[1]}", seen
    finally:
        server.close()


def claims(epoch: str, **fields: str) -> Reply:
    """Return a reply that claims an epoch, in the fields of the answer and of a name server."""
    ext = {
        "brokerName": "broker-a", "epoch": epoch, "role": "ASYNC_MASTER", "haEpoch": epoch,
        "haAddress": "127.0.0.9:1", **fields,
    }  # fmt: skip

    def reply(command: Command) -> Command:
        answer = command.response()
        answer.ext, answer.ext_written = dict(ext), True
        return answer

    return reply


def home(root: Path) -> Path:
    """Return a home with accounts, and with the keys of an administrator."""
    write_home(root)
    (root / TOOLS_FILE).write_text(f"accessKey: {ADMIN}\nsecretKey: {SECRETS[ADMIN]}\n")
    return root


async def register_at(pair: Pair, address: str, broker_id: int, **ext: str) -> None:
    header = registration(
        address, broker_name="broker-a", cluster_name="TestCluster", broker_id=broker_id
    )
    command = Command.request(RequestCode.REGISTER_BROKER, header)
    command.ext |= ext
    assert (await pair.client.invoke(pair.namesrv, command, timeout_s=60)).code == 0


NONSENSE = ["9" * 5_000, "-1", "x", str(1 << 63), str(1 << 62), "\u0663"]


@pytest.mark.parametrize("epoch", ["", *NONSENSE], ids=range(len(NONSENSE) + 1))
@pytest.mark.parametrize("acl", [False, True])
async def test_broker_starts_and_leads_whatever_a_stranger_of_its_name_answers(
    tmp_path: Path, epoch: str, acl: bool
) -> None:
    settings = {"acl_enable": acl, "rocketmq_home": home(tmp_path / "home") if acl else None}
    async with pair_in(tmp_path) as pair, stranger(claims(epoch or str(FUTURE))) as (address, seen):
        await register_at(pair, address, 7)

        master = await pair.start("m", ASYNC, **settings)
        await master.app._replication.fence.round(0)

        assert standing(master) is Standing.LEADS
        assert master.app._replication.fence.file.heard == 0
        # Without accounts nobody can prove anything, so a stranger is not even asked.
        assert {command.code for command in seen} == ({ExtensionCode.GET_EPOCH} if acl else set())
        assert not any(SIGNATURE in command.ext for command in seen)


@pytest.mark.parametrize("epoch", NONSENSE, ids=range(len(NONSENSE)))
async def test_peer_that_is_configured_and_answers_nonsense_is_left(
    tmp_path: Path, epoch: str
) -> None:
    async with pair_in(tmp_path) as pair, stranger(claims(epoch)) as (address, seen):
        master = await pair.start("m", ASYNC, broker_addresses=address)

        assert standing(master) is Standing.LEADS
        assert seen


async def test_configured_peer_is_believed(tmp_path: Path) -> None:
    async with pair_in(tmp_path) as pair, stranger(claims(str(FUTURE))) as (address, _):
        master = await pair.start("m", ASYNC, broker_addresses=address)

        assert standing(master) is Standing.FENCED


@pytest.mark.parametrize(
    "address", ["nonsense", "127.0.0.1", "127.0.0.1:99999", ":1", "[::1]", "a b:1", "\u00e4:1"]
)
async def test_address_that_is_none_stops_no_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    async def named(fence: object) -> set[str]:
        return {address}

    monkeypatch.setattr("mqserver.broker.ha.fence.Fence._named", named)
    async with pair_in(tmp_path) as pair:
        master = await pair.start("m", ASYNC, rocketmq_home=home(tmp_path / "home"))

        assert standing(master) is Standing.LEADS


async def test_epoch_at_a_name_server_needs_a_proof_where_there_are_accounts(
    tmp_path: Path,
) -> None:
    async with pair_in(tmp_path) as pair:
        root = home(tmp_path / "home")
        for proof in ({}, {"haEpochProof": f"{ADMIN}:00"}, {"haEpochProof": "x" * 10_000}):
            await register_at(pair, "127.0.0.1:9", 7, haEpoch=str(FUTURE), **proof)

        master = await pair.start("m", ASYNC, rocketmq_home=root)

        assert standing(master) is Standing.LEADS
        trust = master.app._replication.trust
        proof_of = trust.prove("promotion", "TestCluster", "broker-a", FUTURE)
        told = HaEpoch(ha_epoch=FUTURE, ha_epoch_proof=proof_of)
        master.app._replication.fence.hear_name_server(told, "a name server")
        assert standing(master) is Standing.FENCED


@pytest.mark.parametrize("epoch", [(1 << 63), 1 << 62, "beyond the clock", "now"])
async def test_eight_bytes_on_the_ha_port_fence_nobody(tmp_path: Path, epoch: int | str) -> None:
    async with pair_in(tmp_path) as pair:
        # An address that is listed is believed, but no epoch that is far beyond the clock.
        listed = "10.0.0.*" if epoch == "now" else "127.0.0.1"
        epoch = {"now": FUTURE, "beyond the clock": FUTURE * 2}.get(str(epoch), epoch)
        assert isinstance(epoch, int)
        master = await pair.start("m", ASYNC, slave_addresses=listed)
        port = master.app.broker.config.ha_listen_port
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(REPORT.pack(-epoch))
        assert await reader.read() == b""
        writer.close()

        assert standing(master) is Standing.LEADS
        assert (await master.send(b"yes")).code == 0
        assert not (tmp_path / "m" / "epoch.json").exists()


async def test_slave_signs_nothing_for_a_master_that_proves_nothing(tmp_path: Path) -> None:
    async with pair_in(tmp_path) as pair, stranger(claims("0")) as (address, seen):
        await register_at(pair, address, 0)

        await pair.start("s", SLAVE, rocketmq_home=home(tmp_path / "home"))
        await until(lambda: len(seen) > 1, what="the slave asks the master")

        assert not any(SIGNATURE in command.ext for command in seen)


async def test_proof_is_for_one_challenge_and_one_answer(tmp_path: Path) -> None:
    async with pair_in(tmp_path) as pair:
        root = home(tmp_path / "home")
        master = await pair.start("m", ASYNC, acl_enable=True, rocketmq_home=root)
        question = GetEpoch(broker_name="broker-a", challenge="0123456789abcdef")

        answer = await master.ask(ExtensionCode.GET_EPOCH, question)

        # It needs no key: whoever asks has nothing signed.
        assert answer.code == 0
        header = answer.header(GetEpochResponse)
        trust = master.app._replication.trust
        rest = ("broker-a", 0, "ASYNC_MASTER", header.ha_address, "")
        assert trust.is_proved(header.proof, "answer", "0123456789abcdef", "TestCluster", *rest)
        for other in (
            ("answer", "0123456789abcdeg", "TestCluster", *rest),
            ("answer", "0123456789abcdef", "OtherCluster", *rest),
            ("promotion", "TestCluster", "broker-a", 0),
        ):
            assert not trust.is_proved(header.proof, *other)


@pytest.mark.parametrize("size", [0, 15, 129])
async def test_challenge_that_could_be_guessed_is_refused(pair: Pair, size: int) -> None:
    master = await pair.start("m", ASYNC)

    answer = await master.ask(
        ExtensionCode.GET_EPOCH, GetEpoch(broker_name="broker-a", challenge="x" * size)
    )

    assert answer.code == 1


def trust_of(keys: tuple[str, str] | None, **settings: str) -> Trust:
    config = BrokerConfig(**settings)  # type: ignore[arg-type]
    return Trust(config, keys=keys, access=lambda: None, now_ms=lambda: 5)


@pytest.mark.parametrize(
    ("settings", "is_configured"),
    [
        ({}, False),
        ({"broker_addresses": "10.0.0.1:10911"}, True),
        ({"broker_addresses": "10.0.0.1:10912"}, False),
        ({"ha_master_address": "10.0.0.1:10912"}, True),
        ({"ha_master_address": "10.0.0.2:10912"}, False),
    ],
)
def test_requests_are_signed_for_configured_peers_and_for_those_that_proved_themselves(
    settings: dict[str, str], is_configured: bool
) -> None:
    trust, address = trust_of((ADMIN, SECRETS[ADMIN]), **settings), "10.0.0.1:10911"

    def scope() -> str:
        command = Command.request(RequestCode.GET_ALL_TOPIC_CONFIG)
        trust.sign(command, address)
        return command.ext.get(ACCESS_FOR, "")

    assert trust.is_configured(address) is is_configured
    assert scope() == (f"mqfor1;21;5;{address};" if is_configured else "")
    trust.note_proved(address)
    assert scope() == f"mqfor{1 if is_configured else 2};21;5;{address};"


def test_broker_without_keys_proves_and_signs_nothing() -> None:
    trust = trust_of(None, broker_addresses="10.0.0.1:10911")
    command = Command.request(RequestCode.GET_ALL_TOPIC_CONFIG)

    trust.sign(command, "10.0.0.1:10911")

    assert (command.ext, trust.prove("x"), trust.has_accounts) == ({}, None, False)
    assert not trust.is_proved(f"{ADMIN}:00", "x")


async def test_old_master_with_accounts_learns_from_a_broker_that_proves_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with pair_in(tmp_path) as pair:
        settings = {"acl_enable": True, "rocketmq_home": home(tmp_path / "home")}
        new = await pair.start("n", ASYNC, namesrv_addr=None, **settings)
        new.app._replication.fence.save_promotion(FUTURE, role="ASYNC_MASTER", former_master="")

        async def named(fence: object) -> set[str]:
            return {new.address}

        monkeypatch.setattr("mqserver.broker.ha.fence.Fence._named", named)
        old = await pair.start("m", ASYNC, namesrv_addr=None, **settings)

        assert standing(old) is Standing.FENCED
