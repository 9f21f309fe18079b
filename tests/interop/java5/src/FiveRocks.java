import com.alibaba.fastjson.JSONObject;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.apache.rocketmq.tools.command.MQAdminStartup;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.DBOptions;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksIterator;

/**
 * Prints every entry of RocksDB directories, and what lines of mqadmin 5.4.0 print.
 *
 * <p>First argument: a JSON object with databases (paths) and lines (lists of words). Out: JSON lines "entry" (database,
 * family, key and value in hex) and "line" (words, stdout, stderr). The databases are copies: opening one writes a log
 * file into it.
 */
public final class FiveRocks {
    private static final PrintStream OUT = System.out;

    private FiveRocks() {
    }

    public static void main(String[] args) throws Exception {
        JSONObject spec = JSONObject.parseObject(args[0]);
        for (Object path : spec.getJSONArray("databases")) {
            entries(path.toString());
        }
        for (Object words : spec.getJSONArray("lines")) {
            mqadmin(((List<?>) words).stream().map(Object::toString).toArray(String[]::new));
        }
        System.exit(0);
    }

    private static void entries(String path) throws Exception {
        List<ColumnFamilyDescriptor> families = new ArrayList<>();
        for (byte[] name : RocksDB.listColumnFamilies(new Options(), path)) {
            families.add(new ColumnFamilyDescriptor(name));
        }
        List<ColumnFamilyHandle> handles = new ArrayList<>();
        try (RocksDB database = RocksDB.openReadOnly(new DBOptions(), path, families, handles)) {
            for (ColumnFamilyHandle handle : handles) {
                try (RocksIterator entries = database.newIterator(handle)) {
                    for (entries.seekToFirst(); entries.isValid(); entries.next()) {
                        JSONObject line = new JSONObject(true);
                        line.put("event", "entry");
                        line.put("database", path);
                        line.put("family", new String(handle.getName(), StandardCharsets.UTF_8));
                        line.put("key", HexFormat.of().formatHex(entries.key()));
                        line.put("value", HexFormat.of().formatHex(entries.value()));
                        OUT.println(line);
                    }
                }
                handle.close();
            }
        }
    }

    private static void mqadmin(String[] words) {
        PrintStream stdout = System.out;
        PrintStream stderr = System.err;
        ByteArrayOutputStream output = new ByteArrayOutputStream();
        ByteArrayOutputStream errors = new ByteArrayOutputStream();
        System.setOut(new PrintStream(output, true));
        System.setErr(new PrintStream(errors, true));
        try {
            MQAdminStartup.main0(words, null);
        } finally {
            System.setOut(stdout);
            System.setErr(stderr);
        }
        JSONObject line = new JSONObject(true);
        line.put("event", "line");
        line.put("words", words);
        line.put("stdout", output.toString(StandardCharsets.UTF_8));
        line.put("stderr", errors.toString(StandardCharsets.UTF_8));
        OUT.println(line);
        OUT.flush();
    }
}
