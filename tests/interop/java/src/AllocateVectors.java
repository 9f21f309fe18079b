import com.alibaba.fastjson.JSONArray;
import com.alibaba.fastjson.JSONObject;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMachineRoomNearby;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragelyByCircle;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueByConfig;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueByMachineRoom;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueConsistentHash;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * Prints what the real allocation strategies give, for tests/mqclient/consumer/rebalance/allocate_vectors.jsonl.
 *
 * <p>Spec: seed, cases. Out: queues as [broker, queue id], client ids, and per strategy, per client id,
 * the numbers (in the list of queues) of what the client gets, or "refused" where the strategy throws. Two
 * cases more have a broker and a client of no room.
 */
final class AllocateVectors implements Program {
    private static final List<String> ROOMS = Arrays.asList("east", "west", "north");

    public static void main(String[] args) throws Exception {
        Program.main(new AllocateVectors(), args);
    }

    @Override
    public void run(JSONObject spec, Out out) {
        Random random = new Random(spec.getLongValue("seed"));
        for (int i = 0; i < spec.getIntValue("cases"); i++) {
            out.line(one(random));
        }
        List<String> clients = Arrays.asList("east@10.0.0.1@0", "west@10.0.0.2@1");
        List<MessageQueue> queues =
            Arrays.asList(new MessageQueue("T", "east@broker-0", 0), new MessageQueue("T", "west@broker-1", 0));
        out.line(given("T", Arrays.asList(new MessageQueue("T", "@broker-0", 0), queues.get(1)), clients, ROOMS));
        out.line(given("T", queues, Arrays.asList("@10.0.0.1@0", clients.get(1)), ROOMS));
    }

    private static JSONObject one(Random random) {
        String topic = "Topic" + random.nextInt(3);
        List<MessageQueue> queues = new ArrayList<>();
        int brokers = 1 + random.nextInt(4);
        for (int b = 0; b < brokers; b++) {
            // "room@broker" is what the machine room strategy reads; one name has no room.
            String name = random.nextInt(6) == 0 ? "plain-" + b : ROOMS.get(random.nextInt(3)) + "@broker-" + b;
            int count = 1 + random.nextInt(6);
            for (int q = 0; q < count; q++) {
                queues.add(new MessageQueue(topic, name, q));
            }
        }
        List<String> clients = new ArrayList<>();
        int count = 1 + random.nextInt(8);
        for (int c = 0; c < count; c++) {
            clients.add(ROOMS.get(random.nextInt(3)) + "@10.0.0." + random.nextInt(200) + "@" + c);
        }
        queues = new ArrayList<>(new TreeSet<>(queues));
        clients = new ArrayList<>(new TreeSet<>(clients));
        return given(topic, queues, clients, ROOMS.subList(0, 1 + random.nextInt(3)));
    }

    private static JSONObject given(
        String topic, List<MessageQueue> queues, List<String> clients, List<String> rooms) {
        List<MessageQueue> configured = queues.subList(queues.size() / 2, queues.size());
        JSONObject o = new JSONObject(true);
        o.put("topic", topic);
        o.put("queues", named(queues));
        o.put("clients", clients);
        o.put("rooms", rooms);
        o.put("configured", numbers(queues, configured));
        JSONObject given = new JSONObject(true);
        for (Map.Entry<String, AllocateMessageQueueStrategy> e : strategies(rooms, configured).entrySet()) {
            JSONObject each = new JSONObject(true);
            for (String client : clients) {
                try {
                    each.put(client, numbers(queues, e.getValue().allocate("G", client, queues, clients)));
                } catch (IllegalArgumentException refused) {
                    each.put(client, "refused");
                }
            }
            given.put(e.getKey(), each);
        }
        o.put("given", given);
        return o;
    }

    private static Map<String, AllocateMessageQueueStrategy> strategies(
        List<String> rooms, List<MessageQueue> configured) {
        Map<String, AllocateMessageQueueStrategy> all = new TreeMap<>();
        for (AllocateMessageQueueStrategy s : Arrays.asList(new AllocateMessageQueueAveragely(),
            new AllocateMessageQueueAveragelyByCircle(), new AllocateMessageQueueConsistentHash(),
            nearby(new AllocateMessageQueueAveragely()))) {
            all.put(s.getName(), s);
        }
        AllocateMessageQueueByMachineRoom byRoom = new AllocateMessageQueueByMachineRoom();
        byRoom.setConsumeridcs(new TreeSet<>(rooms));
        all.put(byRoom.getName(), byRoom);
        AllocateMessageQueueByConfig byConfig = new AllocateMessageQueueByConfig();
        byConfig.setMessageQueueList(configured);
        all.put(byConfig.getName(), byConfig);
        return all;
    }

    private static AllocateMessageQueueStrategy nearby(AllocateMessageQueueStrategy inner) {
        return new AllocateMachineRoomNearby(inner, new AllocateMachineRoomNearby.MachineRoomResolver() {
            @Override
            public String brokerDeployIn(MessageQueue queue) {
                return queue.getBrokerName().split("@")[0];
            }

            @Override
            public String consumerDeployIn(String clientId) {
                return clientId.split("@")[0];
            }
        });
    }

    private static JSONArray named(List<MessageQueue> queues) {
        JSONArray all = new JSONArray();
        for (MessageQueue q : queues) {
            all.add(new JSONArray(Arrays.asList(q.getBrokerName(), q.getQueueId())));
        }
        return all;
    }

    private static List<Integer> numbers(List<MessageQueue> queues, List<MessageQueue> given) {
        List<Integer> all = new ArrayList<>();
        for (MessageQueue q : given) {
            all.add(queues.indexOf(q));
        }
        return all;
    }
}
