"""Each line of docs/client.md about bad input names the tests that show it."""

from pathlib import Path

import pytest

from docs.clientpage import BAD_INPUT

HERE = Path(__file__).resolve().parent
SHOWN_BY: dict[str, list[str]] = {
    "no name server answers": [
        "client/test_instance.py::test_when_no_name_server_answers_all_are_named",
        "consumer/test_push_consumer.py::test_without_a_name_server_it_starts_and_consumes_nothing",
        "sim/test_simulation.py::the_name_server_comes_late",
        "sim/test_simulation.py::the_name_server_is_away_and_comes_back_empty",
        "client/test_members.py::test_heartbeats_go_on_while_no_name_server_answers",
    ],
    "a name server that was restarted, or a topic that was deleted": [
        "sim/test_simulation.py::the_name_server_is_away_and_comes_back_empty",
        "client/test_instance.py::test_known_route_outlives_name_servers_that_are_away_or_know_nothing",
    ],
    "no name server is given": ["client/test_instance.py::test_addresses_are_split_and_get_a_port"],
    "a topic without a route": [
        "producer/test_producer.py::test_missing_topic_goes_to_the_queues_of_the_template",
        "producer/test_producer.py::test_without_template_a_missing_topic_has_no_route",
        "sim/test_simulation.py::the_name_server_comes_late",
    ],
    "a group or topic name that is not allowed": [
        "producer/test_producer.py::test_message_that_cannot_be_sent_is_refused_here",
        "producer/test_producer.py::test_queue_of_another_topic_and_bad_group_are_refused",
        "admin/test_queries.py::"
        "test_a_group_name_that_is_not_allowed_is_refused_before_anything_is_asked",
        "admin/test_queries.py::test_a_topic_name_that_is_not_allowed_is_not_subscribed_to",
    ],
    "a parameter out of its range, or a text for an enumeration": [
        "test_settings.py::test_a_value_out_of_its_range_is_refused"
    ],
    "a body that is not bytes, or a key, tag or property that is not text": [
        "producer/test_producer.py::test_message_that_cannot_be_sent_is_refused_here"
    ],
    "a client in a second event loop or in a fork; a blocking call in the client's own loop": [
        "blocking/test_client.py::test_a_client_whose_event_loop_has_ended_says_so",
        "blocking/test_client.py::test_a_fork_is_told_that_the_client_stayed_behind",
        "blocking/test_client.py::test_a_call_inside_of_the_own_loop_is_refused",
    ],
    "an SQL92 expression the broker cannot read": [
        "consumer/test_push_consumer.py::test_an_expression_the_broker_cannot_read_is_refused_at_the_start"
    ],
    "a listener that cannot be called with messages and a context, or is a generator": [
        "consumer/listener/test_listeners.py::test_a_listener_with_other_parameters_is_refused",
    ],
    "a listener that raises, or returns something that is neither None nor a status": [
        "consumer/listener/test_consume_concurrently.py::test_any_answer_but_success_and_none_gives_all_back",
        "consumer/listener/test_consume_concurrently.py::test_a_listener_that_raises_anything_ends_no_worker",
        "consumer/listener/test_consume_concurrently.py::test_broadcasting_drops_what_failed_and_asks_no_broker",
        "consumer/listener/test_consume_orderly.py::test_nothing_overtakes_a_message_that_failed",
        "consumer/listener/test_consume_orderly.py::"
        "test_after_so_many_failures_a_message_is_put_aside_and_the_next_one_comes",
    ],
    "a listener that raises `SystemExit` or a cancellation": [
        "consumer/listener/test_consume_concurrently.py::test_a_listener_that_raises_anything_ends_no_worker",
        "consumer/listener/test_listeners.py::test_what_would_end_the_process_is_an_error_of_the_listener",
    ],
    "a listener that hangs": [
        "consumer/listener/test_consume_concurrently.py::"
        "test_a_listener_over_its_time_loses_its_messages_and_its_late_answer_is_nothing"
    ],
    "a broker that takes no message back": [
        "consumer/state/test_send_back.py::"
        "test_what_its_broker_does_not_take_goes_to_the_retry_topic_as_java_sends_it",
        "consumer/listener/test_consume_concurrently.py::"
        "test_what_the_broker_does_not_take_back_is_tried_here_and_holds_the_position",
    ],
    "a body that cannot be decompressed": [
        "consumer/listener/test_consume_concurrently.py::"
        "test_a_body_that_cannot_be_decompressed_goes_to_the_dead_letters",
        "consumer/listener/test_consume_orderly.py::test_a_body_that_cannot_be_decompressed_does_not_stop_its_queue",
    ],
    "a stored body that is not what was sent (CRC)": [
        "consumer/pull/test_damaged_logs.py::test_every_message_but_the_damaged_one_is_consumed"
    ],
    "a pull answer with bytes that are not a record": [
        "consumer/pull/test_pull_message_service.py::test_what_comes_before_damage_is_consumed_and_the_rest_asked_for_again",
        "consumer/pull/test_pull_message_service.py::test_bytes_that_stay_no_record_are_asked_for_alone_and_passed",
        "consumer/pull/test_damaged_logs.py::test_every_message_but_the_damaged_one_is_consumed",
    ],
    "a query answer with bytes that are not a record": [
        "test_message.py::test_answer_that_is_cut_is_no_message"
    ],
    "an offset outside of the queue": [
        "consumer/pull/test_pull_message_service.py::"
        "test_a_position_outside_is_corrected_kept_and_the_queue_left_to_the_next_rebalance"
    ],
    "a second member of a group in one client": [
        "client/test_members.py::"
        "test_a_second_member_of_a_group_is_refused_and_its_end_leaves_the_first_alone"
    ],
    "a received message that is not acknowledged in time": [
        "consumer/test_simple_consumer.py::"
        "test_a_message_that_came_too_often_is_sent_to_the_dead_letter_queue"
    ],
    "a receipt handle that no broker gave": [
        "consumer/pop/test_pop_request.py::"
        "test_a_handle_of_an_unknown_broker_or_none_at_all_is_refused"
    ],
    "a broker that does not know POP": [
        "consumer/test_simple_consumer.py::"
        "test_a_broker_without_pop_is_an_error_although_others_have_it"
    ],
    "a crash, a stop or a rebalance between `poll` and the next `poll`": [
        "consumer/pull/test_poll_buffer.py::test_stopping_in_the_middle_of_a_batch_does_not_commit_it",
        "sim/test_polling.py::test_a_batch_at_work_when_its_owner_fails_is_given_again",
        "sim/test_polling.py::"
        "test_a_queue_that_goes_to_another_member_takes_no_position_past_the_work",
    ],
    "a `start` that fails or is cancelled": [
        "consumer/test_push_consumer.py::test_an_expression_the_broker_cannot_read_is_refused_at_the_start",
        "consumer/test_lite_pull_consumer.py::test_one_that_cannot_start_is_no_member",
        "client/test_members.py::test_a_start_that_is_given_up_leaves_no_member",
    ],
}


def test_every_line_of_the_page_names_its_tests() -> None:
    assert list(SHOWN_BY) == list(BAD_INPUT)


@pytest.mark.parametrize("test", sorted({test for tests in SHOWN_BY.values() for test in tests}))
def test_the_test_is_there(test: str) -> None:
    path, _, name = test.partition("::")

    assert f"def {name}(" in (HERE / path).read_text()
