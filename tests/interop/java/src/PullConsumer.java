import com.alibaba.fastjson.JSONObject;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.PullStatus;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * Reads every queue of a topic from its first message to its last.
 *
 * <p>Spec: namesrv, topic, group, subscription, mode (pull = DefaultMQPullConsumer, lite =
 * DefaultLitePullConsumer with assigned queues, subscribe = the same in a group, until it is
 * stopped), count (lite), timeoutMs (lite), commit.
 * Out: a "message" each and, per queue, a "queue" with its first and last offsets.
 */
@SuppressWarnings("deprecation")
final class PullConsumer implements Program {
    public static void main(String[] args) throws Exception {
        Program.main(new PullConsumer(), args);
    }

    @Override
    public void run(JSONObject spec, Out out) throws Exception {
        if ("lite".equals(spec.getString("mode"))) {
            lite(spec, out);
        } else if ("subscribe".equals(spec.getString("mode"))) {
            subscribe(spec, out);
        } else {
            pull(spec, out);
        }
    }

    private static void pull(JSONObject spec, Out out) throws Exception {
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer(spec.getString("group"));
        Where.set(consumer, spec.getString("namesrv"));
        consumer.start();
        try {
            for (MessageQueue queue : new TreeSet<>(consumer.fetchSubscribeMessageQueues(spec.getString("topic")))) {
                long first = consumer.minOffset(queue);
                long last = consumer.maxOffset(queue);
                long next = first;
                while (next < last) {
                    PullResult r = consumer.pull(queue, spec.getString("subscription"), next, 32);
                    if (r.getPullStatus() == PullStatus.FOUND) {
                        for (MessageExt m : r.getMsgFoundList()) {
                            out.line(Shown.message(m));
                        }
                    }
                    next = Math.max(next + 1, r.getNextBeginOffset());
                }
                if (spec.getBooleanValue("commit")) {
                    consumer.updateConsumeOffset(queue, next);
                }
                JSONObject o = Shown.event("queue");
                o.put("queueId", queue.getQueueId());
                o.put("first", first);
                o.put("last", last);
                out.line(o);
            }
            if (spec.getBooleanValue("commit")) {
                consumer.getDefaultMQPullConsumerImpl().getOffsetStore().persistAll(
                    consumer.fetchSubscribeMessageQueues(spec.getString("topic")));
            }
        } finally {
            consumer.shutdown();
        }
    }

    private static void subscribe(JSONObject spec, Out out) throws Exception {
        DefaultLitePullConsumer consumer = new DefaultLitePullConsumer(spec.getString("group"));
        Where.set(consumer, spec.getString("namesrv"));
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setAutoCommitIntervalMillis(1000);
        consumer.subscribe(spec.getString("topic"), spec.getString("subscription"));
        consumer.start();
        try {
            do {
                for (MessageExt m : consumer.poll(200)) {
                    out.line(Shown.message(m));
                }
            } while (!out.awaitStop(1));
        } finally {
            consumer.shutdown();
        }
    }

    private static void lite(JSONObject spec, Out out) throws Exception {
        DefaultLitePullConsumer consumer = new DefaultLitePullConsumer(spec.getString("group"));
        Where.set(consumer, spec.getString("namesrv"));
        consumer.setAutoCommit(false);
        // Not seekToBegin after assign: a pull that is under way by then is handed out as well, so
        // that some messages come twice.
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.start();
        try {
            List<MessageQueue> queues =
                new ArrayList<>(new TreeSet<>(consumer.fetchMessageQueues(spec.getString("topic"))));
            consumer.assign(queues);
            int count = spec.getIntValue("count");
            long end = System.currentTimeMillis() + spec.getLongValue("timeoutMs");
            while (count > 0 && System.currentTimeMillis() < end) {
                for (MessageExt m : consumer.poll(500)) {
                    out.line(Shown.message(m));
                    count--;
                }
            }
            if (spec.getBooleanValue("commit")) {
                consumer.commitSync();
            }
        } finally {
            consumer.shutdown();
        }
    }
}
