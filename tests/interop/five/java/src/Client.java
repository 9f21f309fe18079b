import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.Closeable;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientException;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.FilterExpressionType;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.Message;
import org.apache.rocketmq.client.apis.message.MessageBuilder;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.Producer;
import org.apache.rocketmq.client.apis.producer.ProducerBuilder;
import org.apache.rocketmq.client.apis.producer.SendReceipt;
import org.apache.rocketmq.client.apis.producer.Transaction;
import org.apache.rocketmq.client.apis.producer.TransactionResolution;

/**
 * The official Java client of RocketMQ 5, driven by JSON lines on stdin.
 *
 * <p>Its commands and answers are those of every program here: see tests/interop/kit/five_clients.py.
 */
public final class Client {
    private static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(30);
    private static final Duration AWAIT = Duration.ofSeconds(5);
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    private final ClientServiceProvider provider = ClientServiceProvider.loadService();
    private final Deque<Closeable> started = new ArrayDeque<>();
    private final List<MessageView> received = new ArrayList<>();
    private final ClientConfiguration configuration;
    private Producer producer;
    private SimpleConsumer consumer;

    private Client(String endpoint) {
        configuration = ClientConfiguration.newBuilder()
            .setEndpoints(endpoint)
            .enableSsl(false)
            .setRequestTimeout(REQUEST_TIMEOUT)
            .build();
    }

    public static void main(String[] args) throws Exception {
        Client client = new Client(args[0]);
        JsonObject ready = new JsonObject();
        ready.addProperty("event", "ready");
        say(ready);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonObject command = JsonParser.parseString(line).getAsJsonObject();
            JsonObject answer;
            try {
                answer = client.act(command);
            } catch (Exception refused) {
                answer = error(refused);
            }
            answer.add("re", command.get("re"));
            say(answer);
        }
        System.exit(0);
    }

    private static synchronized void say(JsonObject line) {
        OUT.println(line);
    }

    private static JsonObject error(Exception refused) {
        JsonObject error = new JsonObject();
        error.addProperty("text", refused.toString());
        // The client keeps the code of the protocol to itself, and writes it into the text.
        error.add("code", JsonNull.INSTANCE);
        JsonObject answer = new JsonObject();
        answer.add("error", error);
        return answer;
    }

    private JsonObject act(JsonObject command) throws Exception {
        JsonObject answer = new JsonObject();
        switch (command.get("do").getAsString()) {
            case "produce":
                produce(command);
                break;
            case "send":
                send(command, answer);
                break;
            case "recall":
                answer.addProperty("id", producer.recallMessage(
                    command.get("topic").getAsString(), command.get("handle").getAsString()).getMessageId().toString());
                break;
            case "consume":
                consume(command);
                break;
            case "receive":
                receive(command, answer);
                break;
            case "ack":
                consumer.ack(received.get(command.get("number").getAsInt()));
                break;
            case "hide":
                consumer.changeInvisibleDuration(
                    received.get(command.get("number").getAsInt()), seconds(command, "invisible_s"));
                break;
            case "listen":
                listen(command);
                break;
            case "close":
                while (!started.isEmpty()) {
                    started.pop().close();
                }
                received.clear();
                break;
            default:
                throw new IllegalArgumentException("this client does not know " + command.get("do"));
        }
        return answer;
    }

    private static Duration seconds(JsonObject command, String name) {
        return Duration.ofSeconds(command.get(name).getAsLong());
    }

    private static FilterExpression filter(JsonObject command) {
        boolean sql = command.get("sql").getAsBoolean();
        return new FilterExpression(
            command.get("filter").getAsString(), sql ? FilterExpressionType.SQL92 : FilterExpressionType.TAG);
    }

    private static JsonObject described(MessageView message) {
        JsonObject line = new JsonObject();
        line.addProperty("id", message.getMessageId().toString());
        line.addProperty("body", StandardCharsets.UTF_8.decode(message.getBody()).toString());
        line.addProperty("tag", message.getTag().orElse(""));
        JsonArray keys = new JsonArray();
        message.getKeys().forEach(keys::add);
        line.add("keys", keys);
        JsonObject properties = new JsonObject();
        message.getProperties().forEach(properties::addProperty);
        line.add("properties", properties);
        line.addProperty("group", message.getMessageGroup().orElse(""));
        line.addProperty("attempt", message.getDeliveryAttempt());
        return line;
    }

    private void produce(JsonObject command) throws ClientException {
        List<String> topics = new ArrayList<>();
        command.getAsJsonArray("topics").forEach(topic -> topics.add(topic.getAsString()));
        ProducerBuilder builder = provider.newProducerBuilder()
            .setClientConfiguration(configuration)
            .setTopics(topics.toArray(new String[0]));
        String check = command.get("check").getAsString();
        if (!check.isEmpty()) {
            builder.setTransactionChecker(message -> {
                JsonObject event = described(message);
                event.addProperty("event", "checked");
                say(event);
                return check.equals("commit") ? TransactionResolution.COMMIT : TransactionResolution.ROLLBACK;
            });
        }
        producer = builder.build();
        started.push(producer);
    }

    private void send(JsonObject command, JsonObject answer) throws ClientException {
        MessageBuilder builder = provider.newMessageBuilder()
            .setTopic(command.get("topic").getAsString())
            .setBody(command.get("body").getAsString().getBytes(StandardCharsets.UTF_8));
        List<String> keys = new ArrayList<>();
        command.getAsJsonArray("keys").forEach(key -> keys.add(key.getAsString()));
        if (!keys.isEmpty()) {
            builder.setKeys(keys.toArray(new String[0]));
        }
        for (String name : command.getAsJsonObject("properties").keySet()) {
            builder.addProperty(name, command.getAsJsonObject("properties").get(name).getAsString());
        }
        if (!command.get("tag").getAsString().isEmpty()) {
            builder.setTag(command.get("tag").getAsString());
        }
        if (!command.get("group").getAsString().isEmpty()) {
            builder.setMessageGroup(command.get("group").getAsString());
        }
        JsonElement deliver = command.get("deliver_s");
        if (deliver.getAsLong() > 0) {
            builder.setDeliveryTimestamp(deliver.getAsLong() * 1000);
        }
        Message message = builder.build();
        String end = command.get("end").getAsString();
        if (end.isEmpty()) {
            SendReceipt receipt = producer.send(message);
            answer.addProperty("id", receipt.getMessageId().toString());
            answer.addProperty("handle", receipt.getRecallHandle());
            return;
        }
        Transaction transaction = producer.beginTransaction();
        answer.addProperty("id", producer.send(message, transaction).getMessageId().toString());
        if (end.equals("commit")) {
            transaction.commit();
        } else if (end.equals("rollback")) {
            transaction.rollback();
        }
    }

    private void consume(JsonObject command) throws ClientException {
        consumer = provider.newSimpleConsumerBuilder()
            .setClientConfiguration(configuration)
            .setConsumerGroup(command.get("group").getAsString())
            .setAwaitDuration(AWAIT)
            .setSubscriptionExpressions(
                Collections.singletonMap(command.get("topic").getAsString(), filter(command)))
            .build();
        started.push(consumer);
    }

    private void receive(JsonObject command, JsonObject answer) throws ClientException {
        JsonArray told = new JsonArray();
        int count = command.get("count").getAsInt();
        for (MessageView message : consumer.receive(count, seconds(command, "invisible_s"))) {
            JsonObject line = described(message);
            line.addProperty("number", received.size());
            received.add(message);
            told.add(line);
        }
        answer.add("messages", told);
    }

    private void listen(JsonObject command) throws ClientException {
        int failures = command.get("failures").getAsInt();
        started.push(provider.newPushConsumerBuilder()
            .setClientConfiguration(configuration)
            .setConsumerGroup(command.get("group").getAsString())
            .setSubscriptionExpressions(
                Collections.singletonMap(command.get("topic").getAsString(), filter(command)))
            .setMessageListener(message -> {
                JsonObject event = described(message);
                event.addProperty("event", "message");
                say(event);
                return message.getDeliveryAttempt() <= failures ? ConsumeResult.FAILURE : ConsumeResult.SUCCESS;
            })
            .build());
    }
}
