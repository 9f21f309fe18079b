"""Which tests `make test` runs, which `make test-full` adds, and which only `make soak` runs.

    short   what no line of LONG names: minutes on two cores
    full    what a line of LONG names, and further seeds: most of an hour more
    soak    what is marked ``soak``: an hour, of which each test has its part (``tests/soak.py``)

Rule: a test is in exactly one tier. `make test-full` runs the short tier and then the full one,
so that nothing runs twice, with one exception: between the two, `make pure` repeats the short
tests of some rooms (`runs_pure`) without compiled kernels and on the event loop of asyncio. The
short tier keeps a test of each kind that is long, so that `make test` has asked a real Java
client, a real Java broker and Spark as well.
"""

from collections.abc import Collection, Mapping
from enum import Enum
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from storefmt.kernels import KERNELS

SHORT_SEEDS: Final = 2
"""Of a test with an argument ``seed`` so many cases are in the short tier."""
FURTHER_SEEDS: Final = "further seeds of random tests"
SOAKS: Final = "long runs, and tests of very many cases"


class Tier(Enum):
    """A tier: the command that runs it, and the expression by which pytest selects it."""

    SHORT = ("make test", "not full and not soak")
    FULL = ("make test-full", "full and not soak")
    SOAK = ("make soak", "soak")

    @property
    def command(self) -> str:
        """What a person types."""
        return self.value[0]

    @property
    def expression(self) -> str:
        """What the Makefile gives to ``pytest -m``."""
        return self.value[1]


class Long(NamedTuple):
    """Tests that take long.

    Attributes:
        what: how they are called where they are left out.
        where: folders (with their slash), files, functions, or cases of functions.
        short: what of it is in the short tier all the same.
        mark: if not empty, only the tests with this marker.
    """

    what: str
    where: tuple[str, ...]
    short: tuple[str, ...] = ()
    mark: str = ""


ROOMS_OF_KERNELS: Final = frozenset(
    "/".join(("tests", *kernel.replace("mqserver.", "server.", 1).split(".")[:-1]))
    for kernel in KERNELS
)
"""The folders that test what has a compiled form."""
ROOMS_OF_LOOPS: Final = frozenset(
    {
        "tests/remoting/aio",
        "tests/server/broker/ha",
        "tests/server/broker/replicas",
        "tests/server/runtime",
        "tests/server/runtime/access",
        "tests/server/runtime/program",
    }
)
"""The folders that test the event loop, and protocols of asyncio besides those with kernels."""
ROOMS_OF_WHOLES: Final = frozenset({"tests/server/broker", "tests/server/store"})
"""The folders that test a whole broker and a whole store."""

_OFFLINE: Final = "tests/storefmt/offline/"
_STORE: Final = "tests/server/store/"
LONG: Final = (
    Long(
        "tests beside the real RocketMQ",
        where=("tests/interop/",),
        short=(
            "tests/interop/test_java_clients.py::test_batch_arrives_whole_and_in_order",
            "tests/interop/test_java_clients.py::test_orderly_consumers_keep_the_order_of_each_queue",
            "tests/interop/test_java_clients.py::"
            "test_pull_gives_back_what_was_sent_in_order[java-sync-pull]",
            "tests/interop/test_java_clients.py::"
            "test_pull_gives_back_what_was_sent_in_order[ours-sync-pull]",
            "tests/interop/test_javabuild.py",
            "tests/interop/test_our_client.py",
            "tests/interop/test_toolbox.py",
        ),
    ),
    Long(
        "tests with Spark",
        where=("tests/",),
        mark="spark",
        short=(
            "tests/mqspark/sources/store/test_source.py::test_a_row_a_message_equal_to_what_java_decoded",
        ),
    ),
    Long(
        "processes that are killed, cut off or watched, and what is built",
        where=(
            "tests/server/test_wheel.py",
            "tests/test_contributing.py::test_the_example_does_what_its_test_says",
            "tests/test_dependencies.py::test_no_locked_version_has_a_known_vulnerability",
            "tests/test_instructions.py",
            "tests/test_bare_clone.py",
            "tests/test_guest.py",
            "tests/test_packaging.py",
            "tests/mqadmin/cli/test_click_versions.py::"
            "test_the_oldest_click_runs_the_tests_of_the_command_line",
            "tests/mqadmin/test_installation.py::"
            "test_the_version_costs_at_most_five_times_python_alone",
            "tests/server/broker/timer/test_timer_kill.py",
            "tests/server/proxy/test_turns.py",
            "tests/server/test_broker_syscalls.py",
            "tests/server/test_failover.py",
            "tests/server/test_group_failover.py",
            "tests/server/test_kill.py",
            "tests/server/test_kill_delayed.py",
            "tests/server/test_held_disk.py",
            "tests/server/test_held_pair.py",
            "tests/server/test_kill_pop.py",
            "tests/server/test_loop_watchdog.py",
            "tests/server/test_split_brain.py",
            "tests/server/test_worst_content.py",
            f"{_STORE}recovery/test_powercut.py",
            f"{_STORE}recovery/test_syscalls.py",
        ),
        short=(
            "tests/server/test_held_disk.py::"
            "test_a_call_that_the_disk_holds_delays_only_who_waits_for_it[log write-ASYNC_FLUSH]",
            "tests/server/test_loop_watchdog.py::test_every_request_code_is_timed",
            f"{_STORE}recovery/test_syscalls.py::test_killed_at_a_sample_of_calls_it_opens[pwrite64]",
        ),
    ),
    Long(
        "faults at every call of a made-up disk, and cuts at every length",
        where=(
            "tests/server/broker/files/test_topic_files.py::"
            "test_power_cut_in_any_save_leaves_the_topics_before_or_after_it",
            "tests/server/broker/delay/test_delivered.py::"
            "test_crash_at_any_call_of_the_disk_delivers_each_message_once",
            f"{_STORE}recovery/test_crash.py::test_full_disk_undoes_the_puts_and_the_next_ones_succeed",
            f"{_STORE}recovery/test_crash.py::test_nothing_is_acknowledged_after_an_io_error",
            f"{_STORE}recovery/test_crash.py::test_store_without_descriptors_refuses_puts_and_recovers",
            f"{_STORE}recovery/test_crashstates.py",
            f"{_STORE}queues/test_ext_crash.py::test_unit_that_is_there_is_that_of_its_message",
            f"{_STORE}recovery/test_recover.py::test_log_cut_at_every_byte_keeps_the_whole_records",
            f"{_STORE}recovery/test_stalls.py::test_hiccup_at_any_moment_loses_nothing_after_a_kill",
            f"{_STORE}recovery/test_torn_tails.py",
        ),
        short=(
            "tests/server/broker/files/test_topic_files.py::"
            "test_power_cut_in_any_save_leaves_the_topics_before_or_after_it[0]",
            f"{_STORE}recovery/test_crash.py::test_nothing_is_acknowledged_after_an_io_error[names1-1]",
            f"{_STORE}recovery/test_crashstates.py::"
            "test_every_state_that_a_power_cut_may_leave_keeps_the_promise[0-sync]",
            f"{_STORE}recovery/test_crash.py::test_full_disk_undoes_the_puts_and_the_next_ones_succeed[names0-4]",
            f"{_STORE}recovery/test_torn_tails.py::"
            "test_every_combination_of_tails_opens_to_the_whole_records[killed-whole]",
        ),
    ),
    Long(
        "damage of every kind in stores, and what reads and mends it",
        where=(
            f"{_OFFLINE}test_tiny_store.py::test_every_bit_of_the_index",
            f"{_OFFLINE}test_tiny_store.py::test_every_bit_of_the_log",
            f"{_OFFLINE}test_tiny_store.py::test_every_bit_of_the_queues",
            f"{_OFFLINE}test_tiny_store.py::test_every_length_of_every_file",
            f"{_OFFLINE}test_tiny_store.py::test_pages_zeroed_doubled_and_swapped",
            f"{_OFFLINE}verify/test_any_damage.py",
            f"{_OFFLINE}verify/test_bulk.py::test_damaged_stores_give_the_same_report",
            f"{_OFFLINE}verify/test_parallel.py::test_checksums_are_the_same_and_find_the_same",
            f"{_OFFLINE}verify/test_parallel.py::test_pieces_of_damaged_stores_give_the_same_report",
            f"{_OFFLINE}verify/test_parallel.py::test_processes_give_the_same_report",
            f"{_OFFLINE}repair/test_repair.py::test_a_flipped_bit_that_queues_can_tell_is_turned_back",
            f"{_OFFLINE}repair/test_repair.py::test_damage_of_whole_files",
            f"{_OFFLINE}repair/test_repair.py::test_every_damaged_store_becomes_a_healthy_one",
            f"{_OFFLINE}repair/test_repair.py::test_generated_damage_of_the_log",
            f"{_OFFLINE}verify/test_seal.py::test_every_flipped_bit_of_a_log_is_found_at_its_byte",
            "tests/mqspark/jobs/test_verify.py::test_local_reports_are_those_of_store_verify",
            "tests/mqspark/sources/store/test_tables.py::"
            "test_damage_does_not_depend_on_splits_and_holes",
        ),
        short=(
            f"{_OFFLINE}repair/test_repair.py::test_damage_of_whole_files[random_derived_files]",
            f"{_OFFLINE}test_tiny_store.py::test_pages_zeroed_doubled_and_swapped[512-13]",
            f"{_OFFLINE}verify/test_parallel.py::test_processes_give_the_same_report[kinds-lmq]",
        ),
    ),
    Long(
        "kernels and plain Python beside each other, for any bytes",
        where=(
            "tests/server/broker/send/test_any_numbers.py::"
            "test_numbers_from_their_whole_range_are_taken_as_without_kernels",
            "tests/server/broker/send/test_send_kernel.py::"
            "test_a_header_with_any_wrong_bit_is_read_as_without_the_kernel",
            "tests/server/broker/send/test_send_kernel.py::"
            "test_the_same_reads_leave_the_same_bytes_with_and_without_the_kernel",
            "tests/storefmt/arrow/test_columns.py::test_ranges_that_touch_give_every_record_once",
            "tests/storefmt/arrow/test_columns_kernel.py::"
            "test_damaged_logs_give_the_same_columns_on_both_ways",
        ),
        short=(
            "tests/server/broker/send/test_any_numbers.py::"
            "test_numbers_from_their_whole_range_are_taken_as_without_kernels[0-True-True-one_with_any_number]",
            "tests/server/broker/send/test_send_kernel.py::"
            "test_a_header_with_any_wrong_bit_is_read_as_without_the_kernel"
            "[Kind(is_binary=True, is_signed=False)]",
            "tests/server/broker/send/test_send_kernel.py::"
            "test_the_same_reads_leave_the_same_bytes_with_and_without_the_kernel"
            "[Kind(is_binary=True, is_signed=True)-0]",
            "tests/storefmt/arrow/test_columns.py::"
            "test_ranges_that_touch_give_every_record_once[compiled-997-v5]",
            "tests/storefmt/arrow/test_columns.py::"
            "test_ranges_that_touch_give_every_record_once[pure-997-v5]",
        ),
    ),
    Long(
        "the site, and pages whose commands are run",
        where=(
            "tests/mqadmin/commands/test_report.py::test_a_real_browser_draws_it_without_a_complaint",
            "tests/mqadmin/commands/test_store_report.py::"
            "test_a_real_browser_draws_it_without_a_complaint",
            "tests/test_howtos.py::test_the_page_of_the_group_prints_what_it_says",
            "tests/test_howtos.py::test_the_page_prints_what_it_says",
            "tests/test_readme.py::test_the_commands_run_from_top_to_bottom",
            "tests/test_site.py",
            "tests/mqadmin/test_demo.py::test_the_tour_runs_to_its_end_without_a_person",
            "tests/mqadmin/test_demo.py::test_the_tour_is_recorded",
        ),
        short=(
            "tests/mqadmin/commands/test_report.py::"
            "test_a_real_browser_draws_it_without_a_complaint[light]",
            "tests/test_howtos.py::test_the_page_prints_what_it_says[recover-a-broken-store.md]",
        ),
    ),
    Long(
        "large stores and clusters",
        where=(
            "tests/mqadmin/commands/test_streaming.py",
            "tests/server/broker/pop/test_open_pops.py::test_a_million_popped_messages_take_what_is_stated",
            "tests/server/broker/test_flat_memory.py::"
            "test_memory_does_not_grow_with_the_number_of_messages",
            "tests/server/broker/test_many_topics.py",
            f"{_STORE}queues/test_scale.py",
        ),
        short=(
            "tests/server/broker/pop/test_open_pops.py::"
            "test_a_million_popped_messages_take_what_is_stated[by 32]",
        ),
    ),
    Long(
        "waiting for the statistics of a minute",
        where=(
            "tests/mqadmin/health/test_dashboard.py::"
            "test_each_query_names_metrics_and_labels_that_are_exported",
        ),
    ),
    Long(
        "archives, and stores in other places",
        where=(
            "tests/mqadmin/commands/test_pipeline_archive.py",
            "tests/mqspark/jobs/test_archive_and_restore.py",
            "tests/mqspark/archive/test_archive_kills.py",
            "tests/mqspark/sources/store/test_stores.py",
        ),
    ),
    Long(
        "seconds each, beside quick tests of the same kind",
        where=(
            "tests/mqadmin/commands/test_pipeline.py",
            "tests/mqadmin/commands/test_silent_broker.py",
            "tests/mqadmin/commands/test_store_export.py::"
            "test_a_broken_export_goes_on_and_equals_a_whole_one",
            "tests/mqadmin/commands/test_store_rocksdb.py::test_each_line_answers_from_rocksdb",
            "tests/mqadmin/shell/test_screen.py",
            "tests/mqadmin/shell/test_terminal.py",
            "tests/mqspark/archive/",
            "tests/mqspark/jobs/test_damaged_stores.py",
            "tests/mqspark/sources/live/test_patience.py::test_planning_and_reading_outlast_a_restart",
            "tests/mqspark/sources/store/test_state_tables.py::"
            "test_thousands_of_queues_are_few_tasks",
            "tests/mqspark/sources/store/test_tables.py::"
            "test_damage_has_the_rows_that_store_verify_finds",
            "tests/mqspark/test_fleet.py::test_a_pattern_on_s3",
            "tests/server/broker/pop/test_pop_restart.py",
            "tests/server/broker/test_fulldisk.py",
            "tests/server/filterserver/",
            "tests/server/proxy/test_endpoint.py",
            "tests/server/test_embedded.py",
            "tests/server/test_embedded_group.py",
            "tests/server/test_exhaustion.py",
            "tests/server/test_hostile_network.py",
            f"{_STORE}test_raw_log.py::test_slave_has_the_log_the_queues_and_the_index_of_its_master",
            f"{_OFFLINE}verify/test_parallel.py",
            f"{_OFFLINE}verify/test_rocksdb.py::test_a_store_that_was_stopped_in_order_is_whole",
            f"{_OFFLINE}verify/test_verify.py::test_other_records_are_still_read",
            f"{_OFFLINE}views/",
            "tests/test_bad_input.py::test_a_bad_frame_closes_its_connection_only",
            "tests/test_example_outbox.py",
            "tests/test_tiers.py::test_a_run_of_a_tier_says_what_it_left_out",
            "tests/test_tiers.py::test_a_whole_run_leaves_nothing_out",
        ),
        short=(
            "tests/mqadmin/commands/test_pipeline.py::"
            "test_a_small_store_is_counted_without_spark_and_a_line_says_why",
            "tests/mqadmin/commands/test_silent_broker.py::test_doctor_tells_everything_else",
            "tests/mqadmin/commands/test_silent_broker.py::"
            "test_the_others_are_shown_and_the_silent_one_is_named[group lag]",
            "tests/mqadmin/commands/test_store_export.py::"
            "test_a_broken_export_goes_on_and_equals_a_whole_one[50-parquet]",
            "tests/mqadmin/shell/test_screen.py::"
            "test_the_menu_opens_while_typing_and_the_hint_shows_the_syntax",
            "tests/mqadmin/shell/test_terminal.py::test_tab_completes_commands_and_live_topics",
            "tests/mqadmin/shell/test_terminal.py::test_a_destructive_command_asks",
            "tests/mqspark/archive/test_archive.py::test_everything_is_archived_once_over_several_runs",
            "tests/mqspark/jobs/test_damaged_stores.py::test_only_sound_records_are_counted",
            "tests/server/broker/pop/test_pop_restart.py::"
            "test_crash_forgets_no_message_and_repeats_none_that_was_acknowledged",
            "tests/server/broker/test_fulldisk.py::"
            "test_slave_on_a_full_disk_acknowledges_nothing_says_so_and_goes_on_with_space",
            "tests/server/filterserver/test_app.py::"
            "test_messages_that_are_all_left_out_move_the_offset_on",
            "tests/server/proxy/test_endpoint.py::"
            "test_a_message_is_received_acknowledged_and_does_not_come_again",
            "tests/server/test_embedded.py::test_a_message_is_stored_and_its_topic_registered",
            "tests/server/test_embedded_group.py::test_after_the_kill_of_the_master_sends_go_on",
            "tests/server/test_exhaustion.py::"
            "test_a_name_server_without_descriptors_serves_on_and_stops",
            "tests/server/test_hostile_network.py::test_a_length_alone_takes_no_memory",
            f"{_OFFLINE}verify/test_parallel.py::test_processes_give_the_same_report[kinds-lmq]",
            f"{_OFFLINE}verify/test_rocksdb.py::test_a_store_that_was_stopped_in_order_is_whole[v2]",
            f"{_OFFLINE}views/rocksdb/test_queues.py::"
            "test_files_and_rocksdb_of_one_store_have_the_same_entries",
            f"{_OFFLINE}views/test_parts.py::test_what_cannot_be_read_says_so_in_its_row",
            "tests/test_bad_input.py::test_a_bad_frame_closes_its_connection_only[broker-no json]",
        ),
    ),
)


class Place(NamedTuple):
    """The tier of one test, and what kind of tests it is left out with."""

    tier: Tier
    what: str


def place_of(node_id: str, marks: Collection[str], arguments: Mapping[str, object]) -> Place:
    """Return the tier of a test.

    Args:
        node_id: as pytest prints it, ``tests/…/test_x.py::test_y[z]``.
        marks: the names of its markers.
        arguments: of a parametrized test.
    """
    if "soak" in marks:
        return Place(Tier.SOAK, SOAKS)
    for long in LONG:
        if is_below(node_id, long.where) and (not long.mark or long.mark in marks):
            is_short = is_below(node_id, long.short)
            return Place(Tier.SHORT, "") if is_short else Place(Tier.FULL, long.what)
    seed = arguments.get("seed")
    if isinstance(seed, int) and seed >= SHORT_SEEDS:
        return Place(Tier.FULL, FURTHER_SEEDS)
    return Place(Tier.SHORT, "")


def runs_pure(node_id: str) -> bool:
    """Return whether `make pure` repeats a test, if it is in the short tier.

    Everything else gets the same bytes from both forms of a kernel: its room's ``test_*_kernel.py``
    compares them. A folder counts without those below it.
    """
    folder = str(PurePosixPath(node_id.partition("::")[0]).parent)
    return folder in ROOMS_OF_KERNELS | ROOMS_OF_LOOPS | ROOMS_OF_WHOLES


def is_below(node_id: str, places: Collection[str]) -> bool:
    """Return whether a test is in one of some folders, files, functions, or is a case itself."""
    return any(
        node_id.startswith(place)
        and (place[-1] in "/]" or node_id[len(place) :][:1] in ("", ":", "["))
        for place in places
    )


def summary(left_out: Mapping[tuple[str, str], int]) -> list[str]:
    """Return the lines that say what a run left out, and which command runs it.

    Args:
        left_out: how many tests of which tier (its name) and what kind.
    """
    lines = []
    for tier in Tier:
        kinds = {what: count for (name, what), count in left_out.items() if name == tier.name}
        if kinds:
            lines.append(f"left out, run by `{tier.command}`: {sum(kinds.values()):,} tests")
            lines += [f"  {count:6,}  {what}" for what, count in kinds.items() if what]
    return lines
