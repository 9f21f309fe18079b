import com.alibaba.fastjson.JSONObject;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyContext;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyContext;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.impl.consumer.RebalanceImpl;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.protocol.heartbeat.MessageModel;

/**
 * Consumes with DefaultMQPushConsumer until asked to stop.
 *
 * <p>Spec: namesrv, topic, group, subscription, mode (concurrent, orderly), count, timeoutMs, linger,
 * from (first, last), model (clustering, broadcasting), sql, instance, failTimes (deliveries
 * refused per message), backTo (a broker that every first delivery is sent back to), sleepMs (how
 * long the listener sleeps before it returns).
 * Out: "started" with the client id, a "message" each, and "counted" when count was seen, or "timeout". With
 * linger it has no time limit and stays until it is stopped.
 */
final class PushConsumer implements Program {
    public static void main(String[] args) throws Exception {
        Program.main(new PushConsumer(), args);
    }

    @Override
    public void run(JSONObject spec, Out out) throws Exception {
        CountDownLatch left = new CountDownLatch(spec.getIntValue("count"));
        DefaultMQPushConsumer consumer = consumer(spec);
        listen(consumer, spec, out, left);
        consumer.start();
        try {
            JSONObject started = Shown.event("started");
            started.put("clientId", consumer.getDefaultMQPushConsumerImpl().getmQClientFactory().getClientId());
            out.line(started);
            await(spec, out, left);
            awaitIdle(consumer);
        } finally {
            consumer.shutdown();
        }
    }

    private static DefaultMQPushConsumer consumer(JSONObject spec) throws Exception {
        DefaultMQPushConsumer consumer =
            new DefaultMQPushConsumer(spec.getString("group"), Keys.of(spec), new AllocateMessageQueueAveragely());
        Where.set(consumer, spec.getString("namesrv"));
        consumer.setConsumeFromWhere("last".equals(spec.getString("from"))
            ? ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET : ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setMessageModel("broadcasting".equals(spec.getString("model"))
            ? MessageModel.BROADCASTING : MessageModel.CLUSTERING);
        if (spec.containsKey("instance")) {
            consumer.setInstanceName(spec.getString("instance"));
        }
        if (spec.containsKey("namespace")) {
            consumer.setNamespace(spec.getString("namespace"));
        }
        consumer.setConsumeThreadMin(2);
        consumer.setConsumeThreadMax(4);
        consumer.setPersistConsumerOffsetInterval(500);
        consumer.setPollNameServerInterval(2000);
        if (spec.containsKey("sql")) {
            consumer.subscribe(spec.getString("topic"), MessageSelector.bySql(spec.getString("sql")));
        } else {
            consumer.subscribe(spec.getString("topic"), spec.getString("subscription"));
        }
        return consumer;
    }

    private static void listen(DefaultMQPushConsumer consumer, JSONObject spec, Out out, CountDownLatch left) {
        int failTimes = spec.getIntValue("failTimes");
        if ("orderly".equals(spec.getString("mode"))) {
            consumer.registerMessageListener(new MessageListenerOrderly() {
                @Override
                public ConsumeOrderlyStatus consumeMessage(List<MessageExt> batch, ConsumeOrderlyContext context) {
                    return took(batch, failTimes, out, left)
                        ? ConsumeOrderlyStatus.SUCCESS : ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT;
                }
            });
        } else {
            consumer.registerMessageListener(new MessageListenerConcurrently() {
                @Override
                public ConsumeConcurrentlyStatus consumeMessage(List<MessageExt> batch,
                    ConsumeConcurrentlyContext context) {
                    sendBack(consumer, batch, spec.getString("backTo"));
                    sleep(spec.getLongValue("sleepMs"));
                    return took(batch, failTimes, out, left)
                        ? ConsumeConcurrentlyStatus.CONSUME_SUCCESS : ConsumeConcurrentlyStatus.RECONSUME_LATER;
                }
            });
        }
    }

    private static void sendBack(DefaultMQPushConsumer consumer, List<MessageExt> batch, String broker) {
        if (broker == null) {
            return;
        }
        for (MessageExt m : batch) {
            if (m.getReconsumeTimes() == 0) {
                try {
                    consumer.sendMessageBack(m, 1, broker);
                } catch (Exception e) {
                    throw new IllegalStateException("message " + m.getMsgId() + " to " + broker, e);
                }
            }
        }
    }

    private static void sleep(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static boolean took(List<MessageExt> batch, int failTimes, Out out, CountDownLatch left) {
        boolean success = true;
        for (MessageExt m : batch) {
            out.line(Shown.message(m));
            left.countDown();
            success &= m.getReconsumeTimes() >= failTimes;
        }
        return success;
    }

    /**
     * Wait until what the listener took has moved the positions: shutdown keeps them as they are then.
     * Not for ever, since a message that is refused in order stays.
     */
    private static void awaitIdle(DefaultMQPushConsumer consumer) throws InterruptedException {
        RebalanceImpl held = consumer.getDefaultMQPushConsumerImpl().getRebalanceImpl();
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(2);
        while (System.nanoTime() < end
            && held.getProcessQueueTable().values().stream().anyMatch(queue -> queue.getMsgCount().get() > 0)) {
            Thread.sleep(5);
        }
    }

    private static void await(JSONObject spec, Out out, CountDownLatch left) throws Exception {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(spec.getLongValue("timeoutMs"));
        boolean linger = spec.getBooleanValue("linger");
        boolean told = false;
        while (linger || System.nanoTime() < end) {
            if (!told && left.getCount() == 0) {
                told = true;
                out.line(Shown.event("counted"));
                if (!linger) {
                    return;
                }
            }
            if (out.awaitStop(20)) {
                return;
            }
        }
        JSONObject late = Shown.event("timeout");
        late.put("left", left.getCount());
        out.line(late);
    }
}
