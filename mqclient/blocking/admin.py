"""The blocking ``Admin``.

    with BlockingClient("127.0.0.1:9876") as client, BlockingAdmin(client) as admin:
        names = admin.topic_list()

Rule: it has all that is public in ``Admin``, and declares each method in one line.
"""

from mqclient.admin.admin import Admin
from mqclient.blocking.loop import BlockingLoop
from mqclient.blocking.proxy import BlockingProxy, blocking_call


class BlockingAdmin(BlockingProxy[Admin]):
    """A blocking ``Admin``."""

    def __init__(self, client: BlockingLoop) -> None:
        super().__init__(client, Admin(client.mq))

    @property
    def has_namesrv(self) -> bool:
        """Return whether the client has a name server; else brokers are all that can be asked."""
        return self.own.has_namesrv

    acl_config = blocking_call(Admin.acl_config)
    acl_version = blocking_call(Admin.acl_version)
    add_write_perm = blocking_call(Admin.add_write_perm)
    all_consumer_offsets = blocking_call(Admin.all_consumer_offsets)
    broker_config = blocking_call(Admin.broker_config)
    broker_consume_stats = blocking_call(Admin.broker_consume_stats)
    broker_epochs = blocking_call(Admin.broker_epochs)
    broker_runtime = blocking_call(Admin.broker_runtime)
    broker_stats = blocking_call(Admin.broker_stats)
    clean_broker_data = blocking_call(Admin.clean_broker_data)
    clean_expired_queues = blocking_call(Admin.clean_expired_queues)
    clean_unused_topics = blocking_call(Admin.clean_unused_topics)
    clone_group_offset = blocking_call(Admin.clone_group_offset)
    cluster_info = blocking_call(Admin.cluster_info)
    cluster_names = blocking_call(Admin.cluster_names)
    consume_message_directly = blocking_call(Admin.consume_message_directly)
    consume_stats = blocking_call(Admin.consume_stats)
    consume_time_span = blocking_call(Admin.consume_time_span)
    consumer_connection = blocking_call(Admin.consumer_connection)
    consumer_ids = blocking_call(Admin.consumer_ids)
    consumer_running_info = blocking_call(Admin.consumer_running_info)
    consumer_status = blocking_call(Admin.consumer_status)
    controller_config = blocking_call(Admin.controller_config)
    controller_leader = blocking_call(Admin.controller_leader)
    controller_metadata = blocking_call(Admin.controller_metadata)
    correction_offsets = blocking_call(Admin.correction_offsets)
    create_group = blocking_call(Admin.create_group)
    create_topic = blocking_call(Admin.create_topic)
    delay_offsets = blocking_call(Admin.delay_offsets)
    delete_account = blocking_call(Admin.delete_account)
    delete_expired_log = blocking_call(Admin.delete_expired_log)
    delete_group = blocking_call(Admin.delete_group)
    delete_topic_in_broker = blocking_call(Admin.delete_topic_in_broker)
    delete_topic_in_namesrv = blocking_call(Admin.delete_topic_in_namesrv)
    earliest_store_ms = blocking_call(Admin.earliest_store_ms)
    elect_master = blocking_call(Admin.elect_master)
    groups_of_topic = blocking_call(Admin.groups_of_topic)
    kv_delete = blocking_call(Admin.kv_delete)
    kv_get = blocking_call(Admin.kv_get)
    kv_list = blocking_call(Admin.kv_list)
    kv_put = blocking_call(Admin.kv_put)
    lock_batch = blocking_call(Admin.lock_batch)
    lock_table = blocking_call(Admin.lock_table)
    locks = blocking_call(Admin.locks)
    max_offset = blocking_call(Admin.max_offset)
    min_offset = blocking_call(Admin.min_offset)
    namesrv_config = blocking_call(Admin.namesrv_config)
    message_request_modes = blocking_call(Admin.message_request_modes)
    open_transactions = blocking_call(Admin.open_transactions)
    producer_connection = blocking_call(Admin.producer_connection)
    producers = blocking_call(Admin.producers)
    promote_slave = blocking_call(Admin.promote_slave)
    demote_master = blocking_call(Admin.demote_master)
    query_consume_queue = blocking_call(Admin.query_consume_queue)
    query_consumer_offset = blocking_call(Admin.query_consumer_offset)
    query_message = blocking_call(Admin.query_message)
    recall_message = blocking_call(Admin.recall_message)
    reset_offset_by_time = blocking_call(Admin.reset_offset_by_time)
    reset_offset_offline = blocking_call(Admin.reset_offset_offline)
    resume_check_half_message = blocking_call(Admin.resume_check_half_message)
    search_offset = blocking_call(Admin.search_offset)
    set_message_request_mode = blocking_call(Admin.set_message_request_mode)
    shutdown = blocking_call(Admin.shutdown)
    subscription_groups = blocking_call(Admin.subscription_groups)
    sync_state_data = blocking_call(Admin.sync_state_data)
    system_topics = blocking_call(Admin.system_topics)
    timer_metrics = blocking_call(Admin.timer_metrics)
    topic_configs = blocking_call(Admin.topic_configs)
    topic_list = blocking_call(Admin.topic_list)
    topic_message_type = blocking_call(Admin.topic_message_type)
    topic_route = blocking_call(Admin.topic_route)
    topic_route_at = blocking_call(Admin.topic_route_at)
    topic_stats = blocking_call(Admin.topic_stats)
    topic_stats_at = blocking_call(Admin.topic_stats_at)
    topics_by_cluster = blocking_call(Admin.topics_by_cluster)
    unit_sub_topics = blocking_call(Admin.unit_sub_topics)
    unit_sub_ununit_topics = blocking_call(Admin.unit_sub_ununit_topics)
    unit_topics = blocking_call(Admin.unit_topics)
    unlock_batch = blocking_call(Admin.unlock_batch)
    update_account = blocking_call(Admin.update_account)
    update_broker_config = blocking_call(Admin.update_broker_config)
    update_consumer_offset = blocking_call(Admin.update_consumer_offset)
    update_controller_config = blocking_call(Admin.update_controller_config)
    update_namesrv_config = blocking_call(Admin.update_namesrv_config)
    update_white_addresses = blocking_call(Admin.update_white_addresses)
    view_message = blocking_call(Admin.view_message)
    view_message_at = blocking_call(Admin.view_message_at)
    wipe_write_perm = blocking_call(Admin.wipe_write_perm)
