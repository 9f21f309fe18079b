import com.alibaba.fastjson.JSONObject;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Sends timer messages by each of the three properties with the 5.x client, recalls one, and consumes the rest.
 *
 * <p>First argument: a JSON object with namesrv, topic, broker (name), delay (ms). Out: JSON lines "sent" (body, ms when it is
 * due), "recalled" (the unique keys of the answer and of the message), "refused" (what was asked, code, text) and
 * "message" (body, stored).
 */
public final class FiveTimers {
    private FiveTimers() {
    }

    private static synchronized void say(String event, Object... pairs) {
        JSONObject line = new JSONObject(true);
        line.put("event", event);
        for (int i = 0; i < pairs.length; i += 2) {
            line.put((String) pairs[i], pairs[i + 1]);
        }
        System.out.println(line);
        System.out.flush();
    }

    public static void main(String[] args) throws Exception {
        JSONObject spec = JSONObject.parseObject(args[0]);
        String topic = spec.getString("topic");
        long delay = spec.getLongValue("delay");
        DefaultMQProducer producer = new DefaultMQProducer("FiveTimers");
        producer.setNamesrvAddr(spec.getString("namesrv"));
        producer.setMqClientApiTimeout(60_000);
        producer.setSendMsgTimeout(60_000);
        producer.start();
        CountDownLatch left = consume(spec, 3);

        Message at = message(topic, "at");
        at.setDeliverTimeMs(System.currentTimeMillis() + delay);
        send(producer, at, at.getDeliverTimeMs());
        Message seconds = message(topic, "seconds");
        seconds.setDelayTimeSec(delay / 1000);
        send(producer, seconds, System.currentTimeMillis() + delay);
        Message millis = message(topic, "millis");
        millis.setDelayTimeMs(delay);
        send(producer, millis, System.currentTimeMillis() + delay);
        Message gone = message(topic, "gone");
        gone.setDeliverTimeMs(System.currentTimeMillis() + delay);
        SendResult result = send(producer, gone, gone.getDeliverTimeMs());
        String recalled = producer.recallMessage(topic, result.getRecallHandle());
        say("recalled", "answer", recalled, "key", result.getMsgId());
        Message late = message(topic, "late");
        late.setDelayTimeSec(259_201);
        refused("late", () -> producer.send(late));
        // The client itself refuses what is no handle, so this one is of a time that is past.
        String past = "v1 " + topic + " " + spec.getString("broker") + " 99 key";
        byte[] bytes = past.getBytes(StandardCharsets.UTF_8);
        refused("handle", () -> producer.recallMessage(topic, Base64.getUrlEncoder().encodeToString(bytes)));

        left.await(60, TimeUnit.SECONDS);
        // What was recalled would come with the others.
        Thread.sleep(2_500);
        producer.shutdown();
        System.exit(0);
    }

    private interface Call {
        Object run() throws Exception;
    }

    private static void refused(String what, Call call) throws Exception {
        try {
            call.run();
            say("refused", "what", what, "code", 0);
        } catch (MQBrokerException e) {
            say("refused", "what", what, "code", e.getResponseCode(), "text", e.getErrorMessage());
        }
    }

    private static Message message(String topic, String body) {
        return new Message(topic, "tag", body, body.getBytes(StandardCharsets.UTF_8));
    }

    private static SendResult send(DefaultMQProducer producer, Message message, long due) throws Exception {
        SendResult result = producer.send(message);
        say("sent", "body", new String(message.getBody(), StandardCharsets.UTF_8), "due", due,
            "handle", result.getRecallHandle() != null);
        return result;
    }

    private static CountDownLatch consume(JSONObject spec, int count) throws Exception {
        CountDownLatch left = new CountDownLatch(count);
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("FiveTimersReader");
        consumer.setNamesrvAddr(spec.getString("namesrv"));
        consumer.setMqClientApiTimeout(60_000);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(spec.getString("topic"), "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt message : messages) {
                say("message", "body", new String(message.getBody(), StandardCharsets.UTF_8),
                    "stored", message.getStoreTimestamp());
                left.countDown();
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        return left;
    }
}
