import com.alibaba.fastjson.JSONObject;
import java.util.Base64;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.compression.CompressionType;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Sends a body in every compression of the 5.x client, then reads what another sent.
 *
 * <p>First argument: a JSON object with namesrv, topic (to send to), body (Base64), other (the topic to
 * read), count. Out: JSON lines "sent", then "message" with tags, keys, properties and body.
 */
public final class FiveKinds {
    private FiveKinds() {
    }

    public static void main(String[] args) throws Exception {
        JSONObject spec = JSONObject.parseObject(args[0]);
        for (CompressionType kind : CompressionType.values()) {
            send(spec, kind);
        }
        read(spec);
        System.exit(0);
    }

    private static synchronized void say(JSONObject line) {
        System.out.println(line);
        System.out.flush();
    }

    private static void send(JSONObject spec, CompressionType kind) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("FiveKinds" + kind.name());
        producer.setNamesrvAddr(spec.getString("namesrv"));
        producer.setMqClientApiTimeout(60_000);
        producer.setSendMsgTimeout(60000);
        producer.setCompressType(kind);
        producer.start();
        byte[] body = Base64.getDecoder().decode(spec.getString("body"));
        Message message = new Message(spec.getString("topic"), kind.name(), "a b", 7, body, true);
        message.putUserProperty("Zürich", "中文");
        JSONObject line = new JSONObject(true);
        line.put("event", "sent");
        line.put("text", producer.send(message).getSendStatus().name());
        say(line);
        producer.shutdown();
    }

    private static void read(JSONObject spec) throws Exception {
        CountDownLatch left = new CountDownLatch(spec.getIntValue("count"));
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("FiveKindsReader");
        consumer.setNamesrvAddr(spec.getString("namesrv"));
        consumer.setMqClientApiTimeout(60_000);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(spec.getString("other"), "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (batch, context) -> {
            for (MessageExt message : batch) {
                JSONObject line = new JSONObject(true);
                line.put("event", "message");
                line.put("tags", message.getTags());
                line.put("keys", message.getKeys());
                line.put("flag", message.getFlag());
                line.put("properties", message.getProperties());
                line.put("body", Base64.getEncoder().encodeToString(message.getBody()));
                say(line);
                left.countDown();
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        left.await(60, TimeUnit.SECONDS);
        consumer.shutdown();
    }
}
