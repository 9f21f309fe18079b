import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.JSONArray;
import com.alibaba.fastjson.JSONObject;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.PullStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/**
 * Runs the real mqadmin of 5.x, one command after the other, in one JVM.
 *
 * <p>In and out as of the Toolbox of 4.9: an order {"id", "spec": {"args": [...]}} is answered with a line that has
 * what the command wrote to stdout and stderr, and with "done". A wrong option ends the JVM, as it ends the tool.
 *
 * <p>The program PullAll prints a line for each message of a topic: queue, offset, text. ReadAll is a push consumer
 * that prints the same until it has "count" messages. SendAll sends "count" messages to each queue in turn.
 */
public final class FiveAdmin extends MQAdminStartup {
    private FiveAdmin() {
    }

    public static void main(String[] args) {
        PrintStream out = System.out;
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        out.println("{\"event\":\"ready\"}");
        out.flush();
        for (String line : (Iterable<String>) orders.lines()::iterator) {
            JSONObject order = JSON.parseObject(line);
            JSONObject spec = order.getJSONObject("spec");
            try {
                switch (order.getString("program")) {
                    case "PullAll":
                        pullAll(spec, shown -> tell(out, order, shown));
                        break;
                    case "ReadAll":
                        readAll(spec, shown -> tell(out, order, shown));
                        break;
                    case "SendAll":
                        sendAll(spec, shown -> tell(out, order, shown));
                        break;
                    default:
                        JSONArray words = spec.getJSONArray("args");
                        tell(out, order, command(words.toJavaList(String.class).toArray(new String[0])));
                }
            } catch (Exception error) {
                JSONObject ended = new JSONObject(true);
                ended.put("id", order.getIntValue("id"));
                ended.put("done", true);
                ended.put("error", error.toString());
                out.println(ended);
                out.flush();
                continue;
            }
            out.println("{\"id\":" + order.getIntValue("id") + ",\"done\":true}");
            out.flush();
        }
        System.exit(0);
    }

    private static synchronized void tell(PrintStream out, JSONObject order, JSONObject line) {
        JSONObject told = new JSONObject(true);
        told.put("id", order.getIntValue("id"));
        told.put("line", line);
        out.println(told);
        out.flush();
    }

    private static JSONObject shown(int queue, long offset, byte[] body) {
        JSONObject line = new JSONObject(true);
        line.put("event", "message");
        line.put("queue", queue);
        line.put("offset", offset);
        line.put("text", new String(body, StandardCharsets.UTF_8));
        return line;
    }

    private static void pullAll(JSONObject spec, Consumer<JSONObject> told) throws Exception {
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer("PullAll");
        consumer.setInstanceName("PullAll" + System.nanoTime());
        consumer.setNamesrvAddr(spec.getString("namesrv"));
        consumer.start();
        for (MessageQueue queue : consumer.fetchSubscribeMessageQueues(spec.getString("topic"))) {
            long end = consumer.maxOffset(queue);
            for (long at = consumer.minOffset(queue); at < end; ) {
                PullResult result = consumer.pull(queue, "*", at, 32);
                if (result.getPullStatus() == PullStatus.FOUND) {
                    for (MessageExt message : result.getMsgFoundList()) {
                        told.accept(shown(message.getQueueId(), message.getQueueOffset(), message.getBody()));
                    }
                }
                at = result.getNextBeginOffset();
            }
        }
        consumer.shutdown();
    }

    private static void readAll(JSONObject spec, Consumer<JSONObject> told) throws Exception {
        CountDownLatch left = new CountDownLatch(spec.getIntValue("count"));
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(spec.getString("group"));
        consumer.setInstanceName("ReadAll" + System.nanoTime());
        consumer.setNamesrvAddr(spec.getString("namesrv"));
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(spec.getString("topic"), "*");
        consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
            for (MessageExt message : messages) {
                told.accept(shown(message.getQueueId(), message.getQueueOffset(), message.getBody()));
                left.countDown();
            }
            return ConsumeOrderlyStatus.SUCCESS;
        });
        consumer.start();
        if (!left.await(100, TimeUnit.SECONDS)) {
            throw new IllegalStateException(left.getCount() + " messages did not come");
        }
        consumer.shutdown();
    }

    private static void sendAll(JSONObject spec, Consumer<JSONObject> told) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("SendAll");
        producer.setInstanceName("SendAll" + System.nanoTime());
        producer.setNamesrvAddr(spec.getString("namesrv"));
        producer.setSendMsgTimeout(60_000);
        producer.start();
        List<MessageQueue> queues = producer.fetchPublishMessageQueues(spec.getString("topic"));
        for (int number = 0; number < spec.getIntValue("count"); number++) {
            for (MessageQueue queue : queues) {
                byte[] body = (spec.getString("label") + number).getBytes(StandardCharsets.UTF_8);
                SendResult sent = producer.send(new Message(spec.getString("topic"), body), queue);
                told.accept(shown(sent.getMessageQueue().getQueueId(), sent.getQueueOffset(), body));
            }
        }
        producer.shutdown();
    }

    private static JSONObject command(String[] words) {
        PrintStream stdout = System.out;
        PrintStream stderr = System.err;
        ByteArrayOutputStream output = new ByteArrayOutputStream();
        ByteArrayOutputStream errors = new ByteArrayOutputStream();
        System.setOut(new PrintStream(output, true));
        System.setErr(new PrintStream(errors, true));
        try {
            // Some commands keep their connection in a field, and would ask the old servers.
            SUB_COMMANDS.clear();
            main0(words, null);
        } finally {
            System.setOut(stdout);
            System.setErr(stderr);
        }
        JSONObject told = new JSONObject(true);
        told.put("event", "mqadmin");
        told.put("stdout", output.toString(StandardCharsets.UTF_8));
        told.put("stderr", errors.toString(StandardCharsets.UTF_8));
        return told;
    }
}
