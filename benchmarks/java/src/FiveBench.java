import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.Message;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.Producer;

/**
 * A load program on the official Java client of RocketMQ 5, which speaks gRPC. Like Bench.java, it
 * brackets each measured window with a line on standard output that waits for a line on standard
 * input, so that the caller can read the CPU time of the servers at both ends.
 *
 * <p>Arguments: endpoint, first part of the names of topics, body bytes, warm-up seconds, measured seconds, messages to
 * consume, then loads: sync:THREADS async:WINDOW receive:THREADS listen:MS.
 */
public final class FiveBench {
    private static final Duration HIDDEN = Duration.ofSeconds(60);
    private static final BufferedReader IN = new BufferedReader(new InputStreamReader(System.in));
    private static final ClientServiceProvider PROVIDER = ClientServiceProvider.loadService();
    private static ClientConfiguration configuration;
    private static String topic;
    private static byte[] body;
    private static long warmMs;
    private static long runMs;
    private static long consumeCount;
    private static Producer producer;

    /** One window: how often, and how long each took (a logarithmic histogram, 2 % wide). */
    private static final class Window {
        final LongAdder count = new LongAdder();
        final LongAdder failed = new LongAdder();
        final AtomicLongArray histogram = new AtomicLongArray(2048);

        void done(long nanos) {
            count.increment();
            int bucket = (int) (Math.log(Math.max(nanos, 1000) / 1000.0) / Math.log(1.02));
            histogram.incrementAndGet(Math.min(bucket, 2047));
        }

        double micros(double quantile) {
            long total = count.sum();
            long seen = 0;
            for (int i = 0; i < 2048; i++) {
                seen += histogram.get(i);
                if (total > 0 && seen >= quantile * total) {
                    return Math.pow(1.02, i + 0.5);
                }
            }
            return 0;
        }

        void failed(Throwable error) {
            failed.increment();
            if (failed.sum() < 3) {
                System.err.println(error);
            }
        }
    }

    private static volatile Window window = new Window();

    private interface Step {
        void run() throws Exception;
    }

    public static void main(String[] args) throws Exception {
        configuration = ClientConfiguration.newBuilder()
            .setEndpoints(args[0])
            .enableSsl(false)
            .setRequestTimeout(Duration.ofSeconds(10))
            .build();
        topic = args[1];
        body = new byte[Integer.parseInt(args[2])];
        Arrays.fill(body, (byte) 'x');
        warmMs = (long) (Double.parseDouble(args[3]) * 1000);
        runMs = (long) (Double.parseDouble(args[4]) * 1000);
        consumeCount = Long.parseLong(args[5]);
        producer = PROVIDER.newProducerBuilder()
            .setClientConfiguration(configuration)
            .setTopics(topic + "_send", topic + "_receive", topic + "_listen")
            .setMaxAttempts(1)
            .build();
        for (String load : Arrays.asList(args).subList(6, args.length)) {
            String[] parts = load.split(":");
            int size = Integer.parseInt(parts[1]);
            switch (parts[0]) {
                case "sync" -> sync(load, size);
                case "async" -> async(load, size);
                case "receive" -> receive(load, size);
                case "listen" -> listen(load, size);
                default -> throw new IllegalArgumentException("no load named " + load);
            }
        }
        System.exit(0);
    }

    private static Message message(String load, byte[] bytes) {
        return PROVIDER.newMessageBuilder().setTopic(topic + "_" + load).setBody(bytes).build();
    }

    private static void sync(String load, int count) throws Exception {
        AtomicBoolean stop = new AtomicBoolean();
        List<Thread> threads = threads(count, stop, () -> {
            long start = System.nanoTime();
            producer.send(message("send", body));
            window.done(System.nanoTime() - start);
        });
        measure(load);
        stop.set(true);
        join(threads);
    }

    private static void async(String load, int size) throws Exception {
        AtomicBoolean stop = new AtomicBoolean();
        Semaphore slots = new Semaphore(size);
        List<Thread> threads = threads(1, stop, () -> sendSoon("send", slots));
        measure(load);
        stop.set(true);
        join(threads);
        slots.acquire(size);
    }

    private static void sendSoon(String load, Semaphore slots) {
        slots.acquireUninterruptibly();
        long start = System.nanoTime();
        producer.sendAsync(message(load, body)).whenComplete((receipt, error) -> {
            slots.release();
            if (error == null) {
                window.done(System.nanoTime() - start);
            } else {
                window.failed(error);
            }
        });
    }

    private static Map<String, FilterExpression> everything(String load) {
        return Collections.singletonMap(topic + "_" + load, new FilterExpression());
    }

    /**
     * Threads receive up to 32 messages at a time and acknowledge each of them; timed is the
     * acknowledgement. A quarter of the messages that are sent for this, before, is the warm-up.
     */
    private static void receive(String load, int count) throws Exception {
        SimpleConsumer consumer = PROVIDER.newSimpleConsumerBuilder()
            .setClientConfiguration(configuration)
            .setConsumerGroup("bench_receive")
            .setAwaitDuration(Duration.ofSeconds(5))
            .setSubscriptionExpressions(everything("receive"))
            .build();
        // The group begins at this moment, with nothing.
        consumer.receive(32, HIDDEN);
        Semaphore slots = new Semaphore(256);
        for (long i = 0; i < consumeCount; i++) {
            sendSoon("receive", slots);
        }
        slots.acquire(256);
        AtomicBoolean stop = new AtomicBoolean();
        window = new Window();
        List<Thread> threads = threads(count, stop, () -> {
            for (MessageView each : consumer.receive(32, HIDDEN)) {
                long start = System.nanoTime();
                consumer.ack(each);
                window.done(System.nanoTime() - start);
            }
        });
        await(consumeCount / 4);
        Window now = begin(load);
        long start = System.nanoTime();
        await(consumeCount / 2);
        end(load, now, System.nanoTime() - start);
        stop.set(true);
        join(threads);
        consumer.close();
    }

    private static void await(long count) throws InterruptedException {
        while (window.count.sum() + window.failed.sum() < count) {
            Thread.sleep(1);
        }
    }

    /** One message every so many ms, timed from before its send to its push listener. */
    private static void listen(String load, int everyMs) throws Exception {
        PROVIDER.newPushConsumerBuilder()
            .setClientConfiguration(configuration)
            .setConsumerGroup("bench_listen")
            .setSubscriptionExpressions(everything("listen"))
            .setMessageListener(message -> {
                window.done(System.nanoTime() - message.getBody().getLong());
                return ConsumeResult.SUCCESS;
            })
            .build();
        AtomicBoolean stop = new AtomicBoolean();
        List<Thread> threads = threads(1, stop, () -> {
            byte[] now = ByteBuffer.allocate(body.length).putLong(System.nanoTime()).array();
            producer.send(message("listen", now));
            Thread.sleep(everyMs);
        });
        measure(load);
        stop.set(true);
        join(threads);
    }

    private static List<Thread> threads(int count, AtomicBoolean stop, Step step) {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Thread thread = new Thread(() -> {
                while (!stop.get()) {
                    try {
                        step.run();
                    } catch (Exception error) {
                        window.failed(error);
                    }
                }
            });
            threads.add(thread);
            thread.start();
        }
        return threads;
    }

    private static void join(List<Thread> threads) throws InterruptedException {
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private static void measure(String load) throws Exception {
        Thread.sleep(warmMs);
        Window now = begin(load);
        long start = System.nanoTime();
        Thread.sleep(runMs);
        end(load, now, System.nanoTime() - start);
    }

    private static Window begin(String load) throws Exception {
        say("{\"at\":\"begin\",\"load\":\"" + load + "\"}");
        Window now = new Window();
        window = now;
        return now;
    }

    private static void end(String load, Window now, long nanos) throws Exception {
        window = new Window();
        say(String.format(
            "{\"at\":\"end\",\"load\":\"%s\",\"count\":%d,\"failed\":%d,\"seconds\":%.6f,"
                + "\"p50_us\":%.1f,\"p99_us\":%.1f}",
            load, now.count.sum(), now.failed.sum(), nanos / 1e9, now.micros(0.5), now.micros(0.99)));
    }

    private static void say(String line) throws Exception {
        System.out.println(line);
        System.out.flush();
        IN.readLine();
    }
}
