import com.alibaba.fastjson.JSONArray;
import com.alibaba.fastjson.JSONObject;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.RequestCallback;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Asks with DefaultMQProducer.request and waits for the replies.
 *
 * <p>A Replier in the same JVM hears from it when a requester has gone.
 *
 * <p>Spec: namesrv, topic, group, mode (sync, async), timeoutMs, bodies: a list of texts.
 * Out: a "message" per reply, in the order of the bodies when sync, or "refused".
 */
final class Requester implements Program {
    public static void main(String[] args) throws Exception {
        Program.main(new Requester(), args);
    }

    private static final Map<String, CountDownLatch> GONE = new ConcurrentHashMap<>();

    /** Return what opens when the one requester of a topic has said goodbye to the brokers. */
    static CountDownLatch gone(String topic) {
        return GONE.computeIfAbsent(topic, name -> new CountDownLatch(1));
    }

    @Override
    public void run(JSONObject spec, Out out) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer(spec.getString("group"));
        Where.set(producer, spec.getString("namesrv"));
        producer.setInstanceName("requester-" + spec.getString("group"));
        producer.setSendMsgTimeout(60000);
        producer.start();
        try {
            JSONArray bodies = spec.getJSONArray("bodies");
            CountDownLatch left = new CountDownLatch(bodies.size());
            for (int i = 0; i < bodies.size(); i++) {
                byte[] body = bodies.getString(i).getBytes(StandardCharsets.UTF_8);
                ask(producer, new Message(spec.getString("topic"), body), i, spec, out, left);
            }
            left.await(spec.getLongValue("timeoutMs") + 10000, TimeUnit.MILLISECONDS);
        } finally {
            producer.shutdown();
            gone(spec.getString("topic")).countDown();
        }
    }

    private static void ask(DefaultMQProducer producer, Message m, int index, JSONObject spec, Out out,
        CountDownLatch left) throws Exception {
        long timeout = spec.getLongValue("timeoutMs");
        if (!"async".equals(spec.getString("mode"))) {
            try {
                out.line(Shown.message((MessageExt) producer.request(m, timeout)));
            } catch (Exception e) {
                out.line(Shown.refused(index, e));
            }
            left.countDown();
            return;
        }
        producer.request(m, new RequestCallback() {
            @Override
            public void onSuccess(Message reply) {
                out.line(Shown.message((MessageExt) reply));
                left.countDown();
            }

            @Override
            public void onException(Throwable e) {
                out.line(Shown.refused(index, e));
                left.countDown();
            }
        }, timeout);
    }
}
