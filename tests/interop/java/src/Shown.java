import com.alibaba.fastjson.JSONObject;
import java.util.Base64;
import java.util.Map;
import java.util.TreeMap;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.MessageExt;

/** How a received message and a send result look as one JSON object. */
final class Shown {
    private Shown() {
    }

    static JSONObject message(MessageExt m) {
        Map<String, Object> properties = new TreeMap<>(m.getProperties());
        JSONObject o = new JSONObject(true);
        o.put("event", "message");
        o.put("msgId", m.getMsgId());
        o.put("topic", m.getTopic());
        o.put("brokerName", m.getBrokerName());
        o.put("queueId", m.getQueueId());
        o.put("queueOffset", m.getQueueOffset());
        o.put("commitLogOffset", m.getCommitLogOffset());
        o.put("sysFlag", m.getSysFlag());
        o.put("flag", m.getFlag());
        o.put("tags", m.getTags());
        o.put("keys", m.getKeys());
        o.put("bornMs", m.getBornTimestamp());
        o.put("storeMs", m.getStoreTimestamp());
        o.put("reconsumeTimes", m.getReconsumeTimes());
        o.put("properties", properties);
        o.put("body", Base64.getEncoder().encodeToString(m.getBody() == null ? new byte[0] : m.getBody()));
        return o;
    }

    static JSONObject sent(int index, SendResult r) {
        JSONObject o = new JSONObject(true);
        o.put("event", "sent");
        o.put("index", index);
        o.put("status", r.getSendStatus().name());
        o.put("msgId", r.getMsgId());
        o.put("offsetMsgId", r.getOffsetMsgId());
        o.put("brokerName", r.getMessageQueue().getBrokerName());
        o.put("queueId", r.getMessageQueue().getQueueId());
        o.put("queueOffset", r.getQueueOffset());
        return o;
    }

    static JSONObject refused(int index, Throwable e) {
        JSONObject o = new JSONObject(true);
        o.put("event", "refused");
        o.put("index", index);
        o.put("error", String.valueOf(e));
        if (e instanceof org.apache.rocketmq.client.exception.MQBrokerException) {
            o.put("code", ((org.apache.rocketmq.client.exception.MQBrokerException) e).getResponseCode());
        } else if (e instanceof org.apache.rocketmq.client.exception.MQClientException) {
            o.put("code", ((org.apache.rocketmq.client.exception.MQClientException) e).getResponseCode());
        }
        return o;
    }

    static JSONObject event(String name) {
        JSONObject o = new JSONObject(true);
        o.put("event", name);
        return o;
    }
}
