import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Paths;
import java.util.Locale;
import java.util.zip.CRC32;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Decodes a commit log file, once for each line of standard input. A line says how: "mapped" over
 * one mapping whose pages are there since the first pass, or "file" with reading the file, window
 * by window; "decoder" with the Java client's MessageDecoder, or "plain" with a loop that checks
 * the CRC of each body and puts six fields into columns; "body" with bodies, or "head". Answers
 * with records, CPU seconds of the process, and a sum of what was decoded, so that none of it can
 * be optimised away.
 */
public final class Decode {
    private static final int WINDOW_SIZE = 1 << 20;
    private static final int ROWS = 1 << 14;
    private static final String[] TOPICS = new String[ROWS];
    private static final int[] QUEUE_IDS = new int[ROWS];
    private static final long[] QUEUE_OFFSETS = new long[ROWS];
    private static final long[] LOG_OFFSETS = new long[ROWS];
    private static final long[] STORE_TIMES = new long[ROWS];
    private static final int[] BODY_SIZES = new int[ROWS];
    private static final byte[] BODIES = new byte[1 << 24];

    public static void main(String[] arguments) throws Exception {
        FileChannel channel = FileChannel.open(Paths.get(arguments[0]));
        ByteBuffer mapped = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size());
        OperatingSystemMXBean system =
                (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            long[] found = new long[2];
            long before = system.getProcessCpuTime();
            boolean plain = line.contains("plain");
            boolean body = line.contains("body");
            if (line.contains("file")) {
                readPass(channel, plain, body, found);
            } else {
                pass(mapped.duplicate(), plain, body, found);
            }
            double spent = (system.getProcessCpuTime() - before) / 1e9;
            System.out.printf(Locale.ROOT, "%d %.6f %d%n", found[0], spent, found[1]);
            System.out.flush();
        }
    }

    /** Reads windows that end with a whole record, into one buffer. */
    private static void readPass(FileChannel channel, boolean plain, boolean body, long[] found)
            throws Exception {
        ByteBuffer window = ByteBuffer.allocateDirect(WINDOW_SIZE);
        for (long start = 0; ; start += window.limit()) {
            window.clear();
            if (channel.read(window, start) <= 0) {
                return;
            }
            window.flip();
            int end = 0;
            while (end + 4 <= window.limit()) {
                int size = window.getInt(end);
                if (size <= 0 || size > window.limit() - end) {
                    break;
                }
                end += size;
            }
            window.limit(end);
            if (end == 0) {
                return;
            }
            pass(window, plain, body, found);
        }
    }

    private static void pass(ByteBuffer data, boolean plain, boolean body, long[] found) {
        if (plain) {
            plainPass(data, body, found);
        } else {
            decoderPass(data, body, found);
        }
    }

    /** Fills columns of ROWS records again and again, as a reader of batches does; hosts are IPv4. */
    private static void plainPass(ByteBuffer data, boolean body, long[] found) {
        CRC32 crc = new CRC32();
        int row = 0;
        int bodiesEnd = 0;
        int at = 0;
        while (at + 91 <= data.limit() && data.getInt(at) > 0) {
            int size = data.getInt(at);
            int bodySize = data.getInt(at + 84);
            ByteBuffer its = data.duplicate().position(at + 88).limit(at + 88 + bodySize);
            crc.reset();
            crc.update(its);
            if ((crc.getValue() & 0x7fffffff) != data.getInt(at + 8)) {
                throw new IllegalStateException("a wrong CRC at " + at);
            }
            if (row == ROWS || bodiesEnd + bodySize > BODIES.length) {
                found[1] += TOPICS[row - 1].length() + QUEUE_OFFSETS[row - 1]
                        + LOG_OFFSETS[row - 1] + STORE_TIMES[row - 1] + BODY_SIZES[row - 1]
                        + QUEUE_IDS[row - 1] + BODIES[bodiesEnd / 2];
                row = 0;
                bodiesEnd = 0;
            }
            if (body) {
                data.get(at + 88, BODIES, bodiesEnd, bodySize);
                bodiesEnd += bodySize;
            }
            byte[] topic = new byte[data.get(at + 88 + bodySize)];
            data.get(at + 89 + bodySize, topic);
            TOPICS[row] = new String(topic, StandardCharsets.UTF_8);
            QUEUE_IDS[row] = data.getInt(at + 12);
            QUEUE_OFFSETS[row] = data.getLong(at + 20);
            LOG_OFFSETS[row] = data.getLong(at + 28);
            STORE_TIMES[row] = data.getLong(at + 56);
            BODY_SIZES[row] = bodySize;
            row++;
            found[0]++;
            at += size;
        }
    }

    private static void decoderPass(ByteBuffer data, boolean body, long[] found) {
        while (data.hasRemaining()) {
            MessageExt message = MessageDecoder.decode(data, body, false);
            if (message == null) {
                return;
            }
            found[0]++;
            found[1] += message.getQueueOffset() + message.getTopic().length()
                    + message.getMsgId().length() + message.getProperties().size()
                    + message.getBornHostString().length()
                    + (body ? message.getBody()[message.getBody().length - 1] : 0);
        }
    }
}
