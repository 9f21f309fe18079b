import com.alibaba.fastjson.JSONArray;
import com.alibaba.fastjson.JSONObject;
import java.io.File;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.zip.CRC32;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.store.ConsumeQueue;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.GetMessageResult;
import org.apache.rocketmq.store.QueryMessageResult;
import org.apache.rocketmq.store.SelectMappedBufferResult;
import org.apache.rocketmq.store.config.BrokerRole;
import org.apache.rocketmq.store.config.MessageStoreConfig;
import org.apache.rocketmq.store.stats.BrokerStatsManager;

/**
 * Opens store directories with the real store, reads every message of every queue, and closes them.
 *
 * <p>Spec: {"stores": [{"path", "logFileSize", "queueFileSize", "slots", "entries", "abort", "ext", "dispatch",
 * "lmq", "keys": [[topic, key], ..]}], "threads"}. Out, a line each: {"path", "load", "error", "minPhy", "maxPhy",
 * "queues": {"topic@id": {"min", "max", "served": [[queue offset, log offset, size, crc of the body], ..]}},
 * "keys": [count, ..]}. The store is opened as that of a slave, so that nothing is appended.
 */
final class OpenStores implements Program {
    private static final int BATCH = 32;

    @Override
    public void run(JSONObject spec, Out out) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(spec.getIntValue("threads"));
        List<Future<JSONObject>> all = new ArrayList<>();
        JSONArray stores = spec.getJSONArray("stores");
        for (int i = 0; i < stores.size(); i++) {
            JSONObject one = stores.getJSONObject(i);
            all.add(pool.submit(() -> look(one)));
        }
        for (Future<JSONObject> each : all) {
            out.line(each.get());
        }
        pool.shutdown();
    }

    private static JSONObject look(JSONObject spec) {
        JSONObject found = new JSONObject(true);
        found.put("event", "store");
        found.put("path", spec.getString("path"));
        DefaultMessageStore store = null;
        try {
            if (spec.getBooleanValue("abort")) {
                new File(spec.getString("path"), "abort").createNewFile();
            }
            MessageStoreConfig config = config(spec);
            // The constructor of StoreStatsService fills a static TreeMap: two at once break it.
            synchronized (OpenStores.class) {
                store = new DefaultMessageStore(config, new BrokerStatsManager("c", true),
                    (a, b, c, d, e, f, g) -> { }, new BrokerConfig());
            }
            boolean load = store.load();
            found.put("load", load);
            if (load) {
                store.start();
                read(store, spec, found);
            }
        } catch (Throwable e) {
            found.put("error", e + " " + Arrays.toString(e.getStackTrace()));
        }
        if (store != null && found.getBooleanValue("load")) {
            store.shutdown();
        }
        return found;
    }

    private static MessageStoreConfig config(JSONObject spec) {
        MessageStoreConfig config = new MessageStoreConfig();
        String path = spec.getString("path");
        config.setStorePathRootDir(path);
        config.setStorePathCommitLog(path + "/commitlog");
        config.setMappedFileSizeCommitLog(spec.getIntValue("logFileSize"));
        config.setMappedFileSizeConsumeQueue(spec.getIntValue("queueFileSize"));
        config.setMaxHashSlotNum(spec.getIntValue("slots"));
        config.setMaxIndexNum(spec.getIntValue("entries"));
        config.setEnableConsumeQueueExt(spec.getBooleanValue("ext"));
        config.setEnableMultiDispatch(spec.getBooleanValue("dispatch"));
        config.setEnableLmq(spec.getBooleanValue("lmq"));
        config.setMappedFileSizeConsumeQueueExt(16384);
        config.setBrokerRole(BrokerRole.SLAVE);
        config.setHaListenPort(0);
        config.setDiskMaxUsedSpaceRatio(99);
        return config;
    }

    private static void read(DefaultMessageStore store, JSONObject spec, JSONObject found) {
        found.put("minPhy", store.getMinPhyOffset());
        found.put("maxPhy", store.getMaxPhyOffset());
        JSONObject queues = new JSONObject(true);
        for (Map.Entry<String, ConcurrentMap<Integer, ConsumeQueue>> topic
            : new TreeMap<>(store.getConsumeQueueTable()).entrySet()) {
            for (Integer id : topic.getValue().keySet()) {
                queues.put(topic.getKey() + "@" + id, queue(store, topic.getKey(), id));
            }
        }
        found.put("queues", queues);
        JSONArray counts = new JSONArray();
        JSONArray keys = spec.getJSONArray("keys");
        for (int i = 0; keys != null && i < keys.size(); i++) {
            JSONArray pair = keys.getJSONArray(i);
            QueryMessageResult result = store.queryMessage(pair.getString(0), pair.getString(1), 64, 0, Long.MAX_VALUE);
            counts.add(result.getMessageBufferList().size());
            result.release();
        }
        found.put("keys", counts);
    }

    /** Read as a consumer does: from the smallest offset on, always on from what the store says. */
    private static JSONObject queue(DefaultMessageStore store, String topic, int id) {
        JSONObject found = new JSONObject(true);
        long min = store.getMinOffsetInQueue(topic, id);
        long max = store.getMaxOffsetInQueue(topic, id);
        found.put("min", min);
        found.put("max", max);
        JSONArray served = new JSONArray();
        long at = min;
        while (at < max) {
            GetMessageResult result = store.getMessage("READER", topic, id, at, BATCH, null);
            for (SelectMappedBufferResult buffer : result.getMessageMapedList()) {
                served.add(message(buffer.getByteBuffer()));
            }
            result.release();
            if (result.getNextBeginOffset() <= at) {
                break;
            }
            at = result.getNextBeginOffset();
        }
        found.put("served", served);
        return found;
    }

    private static JSONArray message(ByteBuffer bytes) {
        MessageExt message = MessageDecoder.decode(bytes, true, false);
        CRC32 crc = new CRC32();
        crc.update(message.getBody() == null ? new byte[0] : message.getBody());
        JSONArray row = new JSONArray();
        row.add(message.getQueueOffset());
        row.add(message.getCommitLogOffset());
        row.add(message.getStoreSize());
        row.add(crc.getValue());
        return row;
    }
}
