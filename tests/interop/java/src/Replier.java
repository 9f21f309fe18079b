import com.alibaba.fastjson.JSONObject;
import java.nio.charset.StandardCharsets;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.utils.MessageUtil;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Replies to every request of a topic until asked to stop.
 *
 * <p>Spec: namesrv, topic, group. A request whose body is "late" is replied to
 * when the requester has gone.
 * Out: "started", then "sent" or "refused" per reply.
 */
final class Replier implements Program {
    public static void main(String[] args) throws Exception {
        Program.main(new Replier(), args);
    }

    @Override
    public void run(JSONObject spec, Out out) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer(spec.getString("group") + "_P");
        Where.set(producer, spec.getString("namesrv"));
        producer.setInstanceName("replier-" + spec.getString("group"));
        producer.setSendMsgTimeout(60000);
        producer.start();
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(spec.getString("group"));
        Where.set(consumer, spec.getString("namesrv"));
        consumer.setInstanceName("replier-" + spec.getString("group"));
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(spec.getString("topic"), "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (batch, context) -> {
            batch.forEach(m -> reply(producer, m, out));
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        try {
            out.line(Shown.event("started"));
            out.awaitStop(Long.MAX_VALUE);
        } finally {
            consumer.shutdown();
            producer.shutdown();
        }
    }

    private static void reply(DefaultMQProducer producer, MessageExt request, Out out) {
        String text = new String(request.getBody(), StandardCharsets.UTF_8);
        try {
            if (text.equals("late")) {
                Requester.gone(request.getTopic()).await();
            }
            byte[] body = ("reply to " + text).getBytes(StandardCharsets.UTF_8);
            out.line(Shown.sent(0, producer.send(MessageUtil.createReplyMessage(request, body))));
        } catch (Exception e) {
            out.line(Shown.refused(0, e));
        }
    }
}
