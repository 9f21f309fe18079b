import com.alibaba.fastjson.JSONArray;
import com.alibaba.fastjson.JSONObject;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.impl.producer.DefaultMQProducerImpl;
import org.apache.rocketmq.client.impl.producer.TopicPublishInfo;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.selector.SelectMessageQueueByHash;
import org.apache.rocketmq.client.trace.AsyncTraceDispatcher;
import org.apache.rocketmq.common.MixAll;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageClientIDSetter;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.common.topic.TopicValidator;

/**
 * Sends messages with DefaultMQProducer.
 *
 * <p>Spec: namesrv, topic, group, mode (sync, async, oneway, batch), timeoutMs, compressOver,
 * maxMessageSize, compress (ZLIB, LZ4, ZSTD), trace (also send message traces), messages: a list of
 * {body or bodyBase64, tags, keys, flag, delay, properties, queue and broker, or shard (the key of
 * SelectMessageQueueByHash)}.
 * Out: "sent" or "refused" per message; a batch has one "sent" with comma separated ids. With trace it ends
 * when a trace is stored.
 */
final class Producer implements Program {
    private static final int TRACE_TIMEOUT_MS = 60_000;

    public static void main(String[] args) throws Exception {
        Program.main(new Producer(), args);
    }

    @Override
    public void run(JSONObject spec, Out out) throws Exception {
        String compress = spec.getString("compress");
        // A producer reads this when it is made.
        System.setProperty(MixAll.MESSAGE_COMPRESS_TYPE, compress == null ? "ZLIB" : compress);
        DefaultMQProducer producer = new DefaultMQProducer(
            spec.getString("group"), Keys.of(spec), spec.getBooleanValue("trace"), null);
        Where.set(producer, spec.getString("namesrv"));
        if (spec.containsKey("namespace")) {
            producer.setNamespace(spec.getString("namespace"));
        }
        producer.setSendMsgTimeout(spec.getIntValue("timeoutMs") > 0 ? spec.getIntValue("timeoutMs") : 60000);
        producer.setRetryTimesWhenSendFailed(spec.getIntValue("retries"));
        if (spec.containsKey("compressOver")) {
            producer.setCompressMsgBodyOverHowmuch(spec.getIntValue("compressOver"));
        }
        if (spec.containsKey("maxMessageSize")) {
            producer.setMaxMessageSize(spec.getIntValue("maxMessageSize"));
        }
        DefaultMQProducer tracer = spec.getBooleanValue("trace")
            ? ((AsyncTraceDispatcher) producer.getTraceDispatcher()).getTraceProducer() : null;
        if (tracer != null) {
            Where.set(tracer, spec.getString("namesrv"));
            tracer.setSendMsgTimeout(TRACE_TIMEOUT_MS);
        }
        producer.start();
        try {
            long traceCount = tracer == null ? 0 : countTraces(tracer);
            awaitRoute(producer, spec.getString("topic"));
            JSONArray wanted = spec.getJSONArray("messages");
            List<Message> messages = new ArrayList<>();
            for (int i = 0; i < wanted.size(); i++) {
                messages.add(message(spec.getString("topic"), wanted.getJSONObject(i)));
            }
            switch (spec.getString("mode")) {
                case "sync":
                    sync(producer, messages, wanted, out);
                    break;
                case "async":
                    async(producer, messages, out);
                    break;
                case "oneway":
                    oneway(producer, messages, out);
                    break;
                case "batch":
                    batch(producer, messages, out);
                    break;
                default:
                    throw new IllegalArgumentException("mode is sync, async, oneway or batch");
            }
            if (tracer != null) {
                awaitTrace(tracer, traceCount);
            }
        } finally {
            producer.shutdown();
        }
    }

    /**
     * Wait until the client knows the route of a topic that is there: it gives up after 3 seconds behind
     * another question to the name server, and then takes the queues that a new topic would get.
     */
    private static void awaitRoute(DefaultMQProducer producer, String name) {
        String topic = producer.withNamespace(name);
        try {
            producer.fetchPublishMessageQueues(name);
        } catch (MQClientException e) {
            // The first message makes the topic.
            return;
        }
        DefaultMQProducerImpl inside = producer.getDefaultMQProducerImpl();
        TopicPublishInfo known = inside.getTopicPublishInfoTable().get(topic);
        while (known == null || !known.ok()) {
            inside.getmQClientFactory().updateTopicRouteInfoFromNameServer(topic);
            known = inside.getTopicPublishInfoTable().get(topic);
        }
    }

    private static long countTraces(DefaultMQProducer tracer) throws Exception {
        long count = 0;
        for (MessageQueue queue : tracer.fetchPublishMessageQueues(TopicValidator.RMQ_SYS_TRACE_TOPIC)) {
            count += tracer.maxOffset(queue);
        }
        return count;
    }

    /**
     * Wait until the broker has one trace more: traces are sent from another thread some time later, and
     * shutdown drops those that are still on their way.
     */
    private static void awaitTrace(DefaultMQProducer tracer, long countBefore) throws Exception {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(TRACE_TIMEOUT_MS);
        while (countTraces(tracer) == countBefore) {
            if (System.nanoTime() > end) {
                throw new IllegalStateException("no trace was stored in " + TRACE_TIMEOUT_MS + " ms");
            }
            Thread.sleep(20);
        }
    }

    private static Message message(String topic, JSONObject o) {
        byte[] body = o.containsKey("bodyBase64")
            ? Base64.getDecoder().decode(o.getString("bodyBase64"))
            : o.getString("body").getBytes(StandardCharsets.UTF_8);
        Message m = new Message(topic, o.getString("tags"), o.getString("keys"), o.getIntValue("flag"), body, true);
        if (o.containsKey("delay")) {
            m.setDelayTimeLevel(o.getIntValue("delay"));
        }
        if (o.containsKey("properties")) {
            JSONObject properties = o.getJSONObject("properties");
            properties.keySet().stream().sorted().forEach(k -> m.putUserProperty(k, properties.getString(k)));
        }
        return m;
    }

    private static void sync(DefaultMQProducer producer, List<Message> messages, JSONArray wanted, Out out) {
        for (int i = 0; i < messages.size(); i++) {
            JSONObject o = wanted.getJSONObject(i);
            Message m = messages.get(i);
            try {
                SendResult r = o.containsKey("shard")
                    ? producer.send(m, new SelectMessageQueueByHash(), o.getString("shard"))
                    : o.containsKey("queue")
                    ? producer.send(m, new MessageQueue(m.getTopic(), o.getString("broker"), o.getIntValue("queue")))
                    : producer.send(m);
                out.line(Shown.sent(i, r));
            } catch (Exception e) {
                out.line(Shown.refused(i, e));
            }
        }
    }

    private static void async(DefaultMQProducer producer, List<Message> messages, Out out) throws Exception {
        CountDownLatch left = new CountDownLatch(messages.size());
        for (int i = 0; i < messages.size(); i++) {
            final int index = i;
            producer.send(messages.get(i), new SendCallback() {
                @Override
                public void onSuccess(SendResult r) {
                    out.line(Shown.sent(index, r));
                    left.countDown();
                }

                @Override
                public void onException(Throwable e) {
                    out.line(Shown.refused(index, e));
                    left.countDown();
                }
            });
        }
        left.await(120, TimeUnit.SECONDS);
    }

    private static void oneway(DefaultMQProducer producer, List<Message> messages, Out out) throws Exception {
        for (int i = 0; i < messages.size(); i++) {
            producer.sendOneway(messages.get(i));
            JSONObject o = Shown.event("oneway");
            o.put("index", i);
            o.put("msgId", MessageClientIDSetter.getUniqID(messages.get(i)));
            out.line(o);
        }
        // A one-way send is only on its way: what is answered on the same connection came behind it.
        for (MessageQueue queue : producer.fetchPublishMessageQueues(messages.get(0).getTopic())) {
            producer.maxOffset(queue);
        }
    }

    private static void batch(DefaultMQProducer producer, List<Message> messages, Out out) {
        try {
            out.line(Shown.sent(0, producer.send(messages)));
        } catch (Exception e) {
            out.line(Shown.refused(0, e));
        }
    }
}
