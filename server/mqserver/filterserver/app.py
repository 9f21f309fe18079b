"""A filter server: consumers pull through it and get the messages that their filter accepts.

    consumer ─ 302, a module ─> ask the broker (302) ─ allowed? ─> compile ─> filters
    consumer ─ 11 ─> filter known? ─> the same request to the broker ─> its answer
                          FOUND, some kept ─── FOUND with those
                          FOUND, none kept ─── 20, pull again from the next offset
                          anything else ────── passed on unchanged
    every 10 s ─ 301, own address ─> broker ─> name servers ─> routes of consumers

Rule: this server has no rights of its own. It forwards a pull to the broker as the consumer sent
it, with the consumer's group, offsets and signature, so that the broker checks permissions, holds
pulls and commits offsets as usual. Messages are removed from an answer; nothing else in it changes
except the code if no message is left.

Source: filtersrv/FiltersrvController.java, processor/DefaultRequestProcessor.java (4.2).
"""

import asyncio
import dataclasses
import logging
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from mqserver.filterserver.compiling import BadModule, CompileLimits
from mqserver.filterserver.filters import UploadedFilters
from mqserver.filterserver.filterserver_config import FilterServerConfig
from mqserver.filterserver.module import FilterEngine, FilterLimits, FilterModule
from mqserver.runtime.access.hostaddress import join_address
from mqserver.runtime.clock import Clock
from mqserver.runtime.periodic import Services
from mqserver.runtime.program.limits import in_flight_size, process_resources
from mqserver.runtime.registry import Handlers
from mqserver.runtime.request import Request, RequestRefused
from mqserver.runtime.request_dispatcher import RequestDispatcher
from remoting.aio.client import RemotingClient
from remoting.aio.server import RemotingServer, ServerConn
from remoting.codes import FLAG_ONEWAY, RequestCode, ResponseCode
from remoting.command import Command
from remoting.errors import RemotingError
from remoting.headers import PullMessage, RegisterFilterServer, RegisterMessageFilterClass
from remoting.signing import sign_for
from storefmt.errors import RecordDamaged

LOG = logging.getLogger(__name__)

REGISTER_MS: Final = 10_000
ASK_TIMEOUT_S: Final = 5.0
HOLD_GRACE_S: Final = 10.0
"""Time by which the broker's answer to a held pull may exceed the requested hold."""
HOLD_S_MAX: Final = 600.0
PENDING_MAX: Final = 5_000
"""Most requests that wait for the broker, which allows 10,000 held pulls per connection."""
NONE_LEFT: Final = "NO_MATCHED_MESSAGE"


class FilterServerApp:
    """A filter server that can be started once and stopped once.

    Raises:
        BadCall: wasmtime is not installed.
    """

    def __init__(self, config: FilterServerConfig, clock: Clock) -> None:
        self._config = config
        compiling = CompileLimits(
            config.filter_compile_cpu_seconds,
            config.filter_compile_memory_size,
            config.filter_compile_timeout_millis,
        )
        self._engine = FilterEngine(
            FilterLimits(config.filter_fuel, config.filter_memory_size, compiling)
        )
        self._filters = UploadedFilters(
            size_max=config.filter_module_size_max, count_max=config.filter_count_max
        )
        self._client = RemotingClient(tls=config.tls.client)
        # With a single thread a slow filter delays other filters and not the event loop.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="filters")
        # With a thread of its own a slow compilation delays other uploads and no pull.
        self._compile_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="compiling")
        handlers = Handlers(
            {
                RequestCode.REGISTER_MESSAGE_FILTER_CLASS: FilterServerApp.upload,
                RequestCode.PULL_MESSAGE: FilterServerApp.pull,
            },
            {},
        )
        self._server = RemotingServer(
            on_frame=RequestDispatcher(handlers, self, clock=clock).on_frame,
            on_close=self._on_close,
            tls=config.tls.server,
            resources=process_resources(in_flight_size()),
        )
        self._services = Services(clock)
        self._services.every(REGISTER_MS, self._register, name="registration", first_ms=0)
        self._tasks: dict[asyncio.Task[None], ServerConn] = {}
        self._address = ""
        self._is_registered = False
        self._problem: str | None = None

    @property
    def pending_count(self) -> int:
        """Number of requests that wait for the broker or for a filter."""
        return len(self._tasks)

    async def start(self) -> int:
        """Open the port and return its number; the registration with the broker follows.

        Raises:
            OSError: the port cannot be opened.
        """
        port = await self._server.start(self._config.bind_address, self._config.listen_port)
        self._address = join_address(self._config.filter_server_ip, port)
        self._services.start()
        return port

    async def stop(self) -> None:
        """Close every connection; the broker then removes the address from the routes."""
        await self._services.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.stop()
        await self._client.close()
        self._compile_thread.shutdown()
        self._thread.shutdown()

    # Requests.

    def upload(self, request: Request) -> None:
        """Store a consumer's filter if the broker allows it.

        Raises:
            RequestRefused: the upload is too large or damaged, or too many requests wait.
        """
        header = request.command.header(RegisterMessageFilterClass)
        try:
            self._filters.check(header, request.command.body)
        except BadModule as error:
            raise RequestRefused(ResponseCode.SYSTEM_ERROR, str(error)) from error
        self._later(request, self._upload(request, header))

    def pull(self, request: Request) -> None:
        """Answer a pull with the messages that the group's filter accepts.

        Raises:
            RequestRefused: the group has no filter here, or too many requests wait.
        """
        header = request.command.header(PullMessage)
        module = self._filters.find(header.consumer_group, header.topic)
        if module is None:
            raise RequestRefused(
                ResponseCode.SYSTEM_ERROR,
                f"group {header.consumer_group} has no filter for topic {header.topic} here; "
                "upload it with request code 302",
            )
        wait_s = min(HOLD_S_MAX, max(0, header.suspend_timeout_millis) / 1000) + HOLD_GRACE_S
        self._later(request, self._pull(request, module, wait_s))

    async def _upload(self, request: Request, header: RegisterMessageFilterClass) -> Command:
        command = request.command
        allowed = await self._ask(command, timeout_s=ASK_TIMEOUT_S)
        if allowed.code != ResponseCode.SUCCESS:
            return command.response(allowed.code, remark=allowed.remark)
        if not self._filters.is_known(header, command.body):
            run = asyncio.get_running_loop().run_in_executor
            try:
                module = await run(self._compile_thread, self._engine.compile, command.body)
            except BadModule as error:
                return command.response(ResponseCode.SYSTEM_ERROR, remark=str(error))
            self._filters.add_filter(header, command.body, module)
            LOG.info("filter of group %s for topic %s", header.consumer_group, header.topic)
        return command.response()

    async def _pull(self, request: Request, module: FilterModule, wait_s: float) -> Command:
        command = request.command
        answer = await self._ask(command, timeout_s=wait_s)
        code, remark, body = answer.code, answer.remark, answer.body
        if code == ResponseCode.SUCCESS:
            run = asyncio.get_running_loop().run_in_executor
            body = await run(self._thread, module.filter_records, body)
            if not body:
                code, remark = ResponseCode.PULL_RETRY_IMMEDIATELY, NONE_LEFT
        response = command.response(code, remark=remark, body=body)
        response.ext = answer.ext
        return response

    async def _ask(self, command: Command, *, timeout_s: float) -> Command:
        """Forward a request unchanged to the broker, and return its answer."""
        return await self._client.invoke(
            self._config.connect_which_broker,
            dataclasses.replace(command, flag=command.flag & ~FLAG_ONEWAY),
            timeout_s=timeout_s,
        )

    def _later(self, request: Request, work: Coroutine[None, None, Command]) -> None:
        if len(self._tasks) >= PENDING_MAX:
            work.close()
            raise RequestRefused(ResponseCode.SYSTEM_BUSY, "too many requests wait for the broker")
        task = asyncio.get_running_loop().create_task(self._finish(request, work))
        self._tasks[task] = request.conn
        task.add_done_callback(self._tasks.pop)

    async def _finish(self, request: Request, work: Coroutine[None, None, Command]) -> None:
        try:
            response = await work
        except (RemotingError, RecordDamaged) as error:
            response = request.command.response(
                ResponseCode.SYSTEM_ERROR, remark=f"the broker's answer: {error}"
            )
        request.reply(response)

    def _on_close(self, conn: ServerConn) -> None:
        for task, owner in self._tasks.items():
            if owner is conn:
                task.cancel()

    # Registration.

    async def _register(self, now_ms: int) -> None:
        config = self._config
        command = Command.request(
            RequestCode.REGISTER_FILTER_SERVER,
            RegisterFilterServer(filter_server_addr=self._address),
        )
        if config.access_key is not None and config.secret_key is not None:
            sign_for(
                command,
                config.access_key,
                config.secret_key,
                receiver=config.connect_which_broker,
                now_ms=now_ms,
            )
        problem: str | None = None
        try:
            answer = await self._client.invoke(
                config.connect_which_broker, command, timeout_s=ASK_TIMEOUT_S
            )
            if answer.code != ResponseCode.SUCCESS:
                problem = f"code {answer.code}: {answer.remark}"
        except RemotingError as error:
            problem = str(error)
        if problem is None and not self._is_registered:
            LOG.info("registered with broker %s", config.connect_which_broker)
        elif problem is not None and problem != self._problem:
            LOG.warning("the broker refused the registration: %s; it is repeated", problem)
        self._is_registered, self._problem = problem is None, problem
