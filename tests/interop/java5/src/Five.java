import com.alibaba.fastjson.JSONObject;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.PullStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/**
 * Sends, pulls and pushes with the 5.x client, then runs commands of its mqadmin.
 *
 * <p>First argument: a JSON object with namesrv, topic, count, commands (a list of lists of words).
 * Out: JSON lines "sent", "pulled", "pushed", "byTag", "bySql", "mqadmin".
 */
public final class Five {
    private static final PrintStream OUT = System.out;

    private Five() {
    }

    public static void main(String[] args) throws Exception {
        JSONObject spec = JSONObject.parseObject(args[0]);
        String namesrv = spec.getString("namesrv");
        String topic = spec.getString("topic");
        int count = spec.getIntValue("count");
        send(namesrv, topic, count);
        pull(namesrv, topic, 2 * count);
        push(namesrv, topic, "FivePush", MessageSelector.byTag("*"), "pushed", 2 * count);
        push(namesrv, topic, "FiveTag", MessageSelector.byTag("Tag1 || Tag3"), "byTag", 4);
        push(namesrv, topic, "FiveSql", MessageSelector.bySql("TAGS IN ('Tag2') AND KEYS = 'key2'"), "bySql", 1);
        for (Object words : spec.getJSONArray("commands")) {
            mqadmin(((List<?>) words).stream().map(Object::toString).toArray(String[]::new));
        }
        System.exit(0);
    }

    private static synchronized void say(String event, String text, String more) {
        JSONObject o = new JSONObject(true);
        o.put("event", event);
        o.put("text", text);
        o.put("more", more);
        OUT.println(o);
        OUT.flush();
    }

    private static void send(String namesrv, String topic, int count) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("FivePG");
        producer.setNamesrvAddr(namesrv);
        producer.setMqClientApiTimeout(60_000);
        producer.setSendMsgTimeout(60000);
        producer.start();
        List<Message> batch = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Message m = new Message(topic, "Tag" + i, "key" + i, ("single " + i).getBytes(StandardCharsets.UTF_8));
            say("sent", producer.send(m).getSendStatus().name(), "single");
            batch.add(new Message(topic, "Tag" + i, ("batch " + i).getBytes(StandardCharsets.UTF_8)));
        }
        say("sent", producer.send(batch).getSendStatus().name(), "batch");
        producer.shutdown();
    }

    private static void pull(String namesrv, String topic, int count) throws Exception {
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer("FivePull");
        consumer.setNamesrvAddr(namesrv);
        consumer.setMqClientApiTimeout(60_000);
        consumer.start();
        int got = 0;
        for (MessageQueue queue : consumer.fetchSubscribeMessageQueues(topic)) {
            PullResult result = consumer.pullBlockIfNotFound(queue, "*", 0, 32);
            for (long next = 0; result.getPullStatus() == PullStatus.FOUND; next = result.getNextBeginOffset()) {
                result = consumer.pull(queue, "*", next, 32);
                if (result.getPullStatus() == PullStatus.FOUND) {
                    for (MessageExt m : result.getMsgFoundList()) {
                        say("pulled", new String(m.getBody(), StandardCharsets.UTF_8), m.getTags());
                        got++;
                    }
                }
            }
        }
        consumer.shutdown();
        if (got != count) {
            throw new IllegalStateException("pulled " + got + " of " + count);
        }
    }

    private static void push(
        String namesrv, String topic, String group, MessageSelector selector, String event, int count) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        CountDownLatch left = new CountDownLatch(count);
        consumer.setNamesrvAddr(namesrv);
        consumer.setMqClientApiTimeout(60_000);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, selector);
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt m : messages) {
                say(event, new String(m.getBody(), StandardCharsets.UTF_8), m.getTags());
                left.countDown();
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        left.await(60, TimeUnit.SECONDS);
        consumer.shutdown();
    }

    private static void mqadmin(String[] words) {
        PrintStream stdout = System.out;
        PrintStream stderr = System.err;
        ByteArrayOutputStream output = new ByteArrayOutputStream();
        ByteArrayOutputStream errors = new ByteArrayOutputStream();
        System.setOut(new PrintStream(output, true));
        System.setErr(new PrintStream(errors, true));
        try {
            MQAdminStartup.main0(words, null);
        } finally {
            System.setOut(stdout);
            System.setErr(stderr);
        }
        say("mqadmin", output.toString(StandardCharsets.UTF_8), errors.toString(StandardCharsets.UTF_8));
    }
}
