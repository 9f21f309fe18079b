import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Paths;
import java.util.Locale;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Decodes a commit log file with the Java client's own decoder, once for each line of standard
 * input: "body" or "head" over one mapping whose pages are there since the first pass, "file" with
 * bodies and with reading the file, window by window. Answers with records, CPU seconds of the
 * process, and a sum of what was decoded, so that none of it can be optimised away.
 */
public final class Decode {
    private static final int WINDOW_SIZE = 1 << 20;

    public static void main(String[] arguments) throws Exception {
        FileChannel channel = FileChannel.open(Paths.get(arguments[0]));
        ByteBuffer mapped = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size());
        OperatingSystemMXBean system =
                (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            long[] found = new long[2];
            long before = system.getProcessCpuTime();
            if (line.equals("file")) {
                readPass(channel, found);
            } else {
                pass(mapped.duplicate(), line.equals("body"), found);
            }
            double spent = (system.getProcessCpuTime() - before) / 1e9;
            System.out.printf(Locale.ROOT, "%d %.6f %d%n", found[0], spent, found[1]);
            System.out.flush();
        }
    }

    /** Reads windows that end with a whole record, into one buffer. */
    private static void readPass(FileChannel channel, long[] found) throws Exception {
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
            pass(window, true, found);
        }
    }

    private static void pass(ByteBuffer data, boolean body, long[] found) {
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
