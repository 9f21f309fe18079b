import com.alibaba.fastjson.JSONObject;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageConst;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/**
 * Two 5.x push consumers of one group in POP mode, which the 5.x mqadmin sets with setConsumeMode.
 *
 * <p>First argument: a JSON object with namesrv, cluster, topic, group, count, refused (bodies that
 * are refused at their first delivery). Out: JSON lines "popped" with body, times, consumer, handle.
 */
public final class FivePop {
    private static final PrintStream OUT = System.out;

    private FivePop() {
    }

    public static void main(String[] args) throws Exception {
        JSONObject spec = JSONObject.parseObject(args[0]);
        String namesrv = spec.getString("namesrv");
        String topic = spec.getString("topic");
        String group = spec.getString("group");
        int count = spec.getIntValue("count");
        System.setProperty("rocketmq.namesrv.addr", namesrv);
        System.setOut(System.err);
        // A consumer asks for its queues once the name server knows the topic.
        MQAdminStartup.main0(new String[] {"updateTopic", "-n", namesrv, "-c", spec.getString("cluster"),
            "-t", topic, "-r", "4", "-w", "4"}, null);
        MQAdminStartup.main0(new String[] {"setConsumeMode", "-n", namesrv, "-c", spec.getString("cluster"),
            "-t", topic, "-g", group, "-m", "POP", "-q", "0"}, null);
        CountDownLatch all = new CountDownLatch(count);
        Set<String> refused = ConcurrentHashMap.newKeySet();
        for (Object body : spec.getJSONArray("refused")) {
            refused.add(body.toString());
        }
        DefaultMQPushConsumer[] consumers = {consumer(namesrv, topic, group, "one", refused, all),
            consumer(namesrv, topic, group, "two", refused, all)};
        DefaultMQProducer producer = new DefaultMQProducer("FivePopPG");
        producer.setNamesrvAddr(namesrv);
        producer.setSendMsgTimeout(60000);
        producer.start();
        for (int i = 0; i < count; i++) {
            producer.send(new Message(topic, "A", "key" + i, ("m" + i).getBytes(StandardCharsets.UTF_8)));
        }
        boolean complete = all.await(120, TimeUnit.SECONDS);
        // Acknowledgements are asynchronous.
        Thread.sleep(3000);
        for (DefaultMQPushConsumer one : consumers) {
            one.shutdown();
        }
        producer.shutdown();
        JSONObject o = new JSONObject(true);
        o.put("event", "end");
        o.put("complete", complete);
        OUT.println(o);
        OUT.flush();
        System.exit(0);
    }

    private static DefaultMQPushConsumer consumer(String namesrv, String topic, String group, String name,
        Set<String> refused, CountDownLatch all) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(namesrv);
        consumer.setInstanceName(name);
        consumer.setClientRebalance(false);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setPopInvisibleTime(60_000);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt m : messages) {
                String body = new String(m.getBody(), StandardCharsets.UTF_8);
                boolean again = refused.remove(body);
                say(m, body, name, again);
                if (again) {
                    return ConsumeConcurrentlyStatus.RECONSUME_LATER;
                }
                all.countDown();
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        return consumer;
    }

    private static synchronized void say(MessageExt m, String body, String consumer, boolean isRefused) {
        JSONObject o = new JSONObject(true);
        o.put("event", "popped");
        o.put("body", body);
        o.put("topic", m.getTopic());
        o.put("times", m.getReconsumeTimes());
        o.put("consumer", consumer);
        o.put("refused", isRefused);
        o.put("handle", m.getProperty(MessageConst.PROPERTY_POP_CK));
        OUT.println(o);
        OUT.flush();
    }
}
