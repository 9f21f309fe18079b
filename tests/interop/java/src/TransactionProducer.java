import com.alibaba.fastjson.JSONArray;
import com.alibaba.fastjson.JSONObject;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.impl.factory.MQClientInstance;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.client.producer.TransactionSendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Sends transactional messages, then answers the broker's questions until asked to stop.
 *
 * <p>Spec: namesrv, topic, group, messages: a list of {key, first, properties}, answers:
 * key -> commit, rollback, unknown. "first" is the local state right after the send.
 * Out: "sent" per message, "ready", and "asked" per question.
 */
final class TransactionProducer implements Program {
    public static void main(String[] args) throws Exception {
        Program.main(new TransactionProducer(), args);
    }

    @Override
    public void run(JSONObject spec, Out out) throws Exception {
        Map<String, LocalTransactionState> first = new ConcurrentHashMap<>();
        JSONObject answers = spec.getJSONObject("answers");
        TransactionMQProducer producer = new TransactionMQProducer(spec.getString("group"));
        Where.set(producer, spec.getString("namesrv"));
        producer.setSendMsgTimeout(60000);
        // The group's heartbeat has to reach a broker that nothing is sent to.
        producer.setPollNameServerInterval(1000);
        producer.setHeartbeatBrokerInterval(1000);
        producer.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message m, Object argument) {
                return first.get(m.getKeys());
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt m) {
                JSONObject asked = Shown.message(m);
                asked.put("event", "asked");
                asked.put("transactionId", m.getTransactionId());
                out.line(asked);
                return state(answers.getString(m.getKeys()));
            }
        });
        producer.start();
        try {
            JSONArray messages = spec.getJSONArray("messages");
            if (messages.isEmpty()) {
                // Without a send a producer knows no topic, and so no broker to say hello to.
                MQClientInstance client = producer.getDefaultMQProducerImpl().getMqClientFactory();
                client.updateTopicRouteInfoFromNameServer(spec.getString("topic"));
                client.sendHeartbeatToAllBrokerWithLock();
            }
            for (int i = 0; i < messages.size(); i++) {
                JSONObject o = messages.getJSONObject(i);
                String key = o.getString("key");
                first.put(key, state(o.getString("first")));
                Message m = new Message(spec.getString("topic"), "t", key, key.getBytes(StandardCharsets.UTF_8));
                if (o.containsKey("properties")) {
                    JSONObject properties = o.getJSONObject("properties");
                    properties.keySet().stream().sorted().forEach(k -> m.putUserProperty(k, properties.getString(k)));
                }
                TransactionSendResult r = producer.sendMessageInTransaction(m, null);
                JSONObject sent = Shown.sent(i, r);
                sent.put("transactionId", r.getTransactionId());
                sent.put("state", r.getLocalTransactionState().name());
                out.line(sent);
            }
            out.line(Shown.event("ready"));
            out.awaitStop(Long.MAX_VALUE);
        } finally {
            producer.shutdown();
        }
    }

    private static LocalTransactionState state(String word) {
        switch (word == null ? "unknown" : word) {
            case "commit":
                return LocalTransactionState.COMMIT_MESSAGE;
            case "rollback":
                return LocalTransactionState.ROLLBACK_MESSAGE;
            default:
                return LocalTransactionState.UNKNOW;
        }
    }
}
