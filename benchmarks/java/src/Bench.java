import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.PullStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * A load program on the real Java client. It runs the loads named on the command line one after
 * another in one JVM, and brackets each measured window with a line on standard output that waits
 * for a line on standard input, so that the caller can read the broker's CPU time at both ends.
 *
 * <p>Arguments: name server, topic, body bytes, warm-up seconds, measured seconds, messages to
 * consume, then loads: sync:THREADS async:WINDOW batch:THREADS push pull listen:MS.
 */
public final class Bench {
    private static final BufferedReader IN = new BufferedReader(new InputStreamReader(System.in));
    private static String namesrv;
    private static String topic;
    private static byte[] body;
    private static long warmMs;
    private static long runMs;
    private static long consumeCount;

    /** One window: how often, and how long each took (a logarithmic histogram, 2 % wide). */
    private static final class Window {
        final LongAdder count = new LongAdder();
        final LongAdder failed = new LongAdder();
        final AtomicLongArray histogram = new AtomicLongArray(2048);

        void done(long nanos, int messages) {
            count.add(messages);
            int bucket = (int) (Math.log(Math.max(nanos, 1000) / 1000.0) / Math.log(1.02));
            histogram.incrementAndGet(Math.min(bucket, 2047));
        }

        double micros(double quantile) {
            long total = 0;
            for (int i = 0; i < 2048; i++) {
                total += histogram.get(i);
            }
            long seen = 0;
            for (int i = 0; i < 2048; i++) {
                seen += histogram.get(i);
                if (total > 0 && seen >= quantile * total) {
                    return Math.pow(1.02, i + 0.5);
                }
            }
            return 0;
        }
    }

    private static volatile Window window = new Window();

    public static void main(String[] args) throws Exception {
        namesrv = args[0];
        topic = args[1];
        body = new byte[Integer.parseInt(args[2])];
        Arrays.fill(body, (byte) 'x');
        warmMs = (long) (Double.parseDouble(args[3]) * 1000);
        runMs = (long) (Double.parseDouble(args[4]) * 1000);
        consumeCount = Long.parseLong(args[5]);
        DefaultMQProducer producer = new DefaultMQProducer("bench_producer");
        producer.setNamesrvAddr(namesrv);
        producer.setInstanceName("bench");
        producer.setRetryTimesWhenSendFailed(0);
        producer.setSendMsgTimeout(10000);
        producer.start();
        for (String load : Arrays.asList(args).subList(6, args.length)) {
            String[] parts = load.split(":");
            int size = parts.length > 1 ? Integer.parseInt(parts[1]) : 1;
            switch (parts[0]) {
                case "sync" -> threads(load, size, () -> sendOne(producer));
                case "batch" -> threads(load, size, () -> sendBatch(producer));
                case "async" -> async(load, size, producer);
                case "push" -> push(load);
                case "pull" -> pull(load);
                case "listen" -> listen(load, size, producer);
                default -> throw new IllegalArgumentException("no load named " + load);
            }
        }
        producer.shutdown();
        System.exit(0);
    }

    private interface Step {
        void run() throws Exception;
    }

    private static void sendOne(DefaultMQProducer producer) throws Exception {
        long start = System.nanoTime();
        check(producer.send(new Message(topic, body)));
        window.done(System.nanoTime() - start, 1);
    }

    private static void sendBatch(DefaultMQProducer producer) throws Exception {
        List<Message> batch = new ArrayList<>(32);
        for (int i = 0; i < 32; i++) {
            batch.add(new Message(topic, body));
        }
        long start = System.nanoTime();
        check(producer.send(batch));
        window.done(System.nanoTime() - start, 32);
    }

    private static void check(SendResult result) {
        if (result.getSendStatus() != SendStatus.SEND_OK) {
            throw new IllegalStateException("send answered " + result);
        }
    }

    private static void threads(String load, int count, Step step) throws Exception {
        AtomicBoolean stop = new AtomicBoolean();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Thread thread = new Thread(() -> {
                while (!stop.get()) {
                    try {
                        step.run();
                    } catch (Exception error) {
                        failed(error);
                    }
                }
            });
            threads.add(thread);
            thread.start();
        }
        measure(load);
        stop.set(true);
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private static void failed(Throwable error) {
        window.failed.increment();
        if (window.failed.sum() < 3) {
            System.err.println(error);
        }
    }

    private static void async(String load, int size, DefaultMQProducer producer) throws Exception {
        AtomicBoolean stop = new AtomicBoolean();
        Semaphore slots = new Semaphore(size);
        Thread thread = new Thread(() -> {
            while (!stop.get()) {
                slots.acquireUninterruptibly();
                long start = System.nanoTime();
                try {
                    producer.send(new Message(topic, body), new SendCallback() {
                        @Override
                        public void onSuccess(SendResult result) {
                            slots.release();
                            window.done(System.nanoTime() - start, 1);
                        }

                        @Override
                        public void onException(Throwable error) {
                            slots.release();
                            failed(error);
                        }
                    });
                } catch (Exception error) {
                    slots.release();
                    failed(error);
                }
            }
        });
        thread.start();
        measure(load);
        stop.set(true);
        thread.join();
        slots.acquire(size);
    }

    private static void measure(String load) throws Exception {
        Thread.sleep(warmMs);
        say("{\"at\":\"begin\",\"load\":\"" + load + "\"}");
        Window now = new Window();
        window = now;
        long start = System.nanoTime();
        Thread.sleep(runMs);
        long nanos = System.nanoTime() - start;
        window = new Window();
        report(load, now, now.count.sum(), nanos);
    }

    private static void report(String load, Window now, long count, long nanos) throws Exception {
        say(String.format(
            "{\"at\":\"end\",\"load\":\"%s\",\"count\":%d,\"failed\":%d,\"seconds\":%.6f,"
                + "\"p50_us\":%.1f,\"p99_us\":%.1f}",
            load, count, now.failed.sum(), nanos / 1e9, now.micros(0.5), now.micros(0.99)));
    }

    private static void say(String line) throws Exception {
        System.out.println(line);
        System.out.flush();
        IN.readLine();
    }

    /** Reads what the sends before it left in the topic, from the first message on. */
    private static void push(String load) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("bench_push");
        consumer.setNamesrvAddr(namesrv);
        consumer.setInstanceName("bench_push");
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setConsumeMessageBatchMaxSize(32);
        consumer.subscribe(topic, "*");
        AtomicLong seen = new AtomicLong();
        AtomicLong first = new AtomicLong();
        CountDownLatch enough = new CountDownLatch(1);
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            first.compareAndSet(0, System.nanoTime());
            if (seen.addAndGet(messages.size()) >= consumeCount) {
                enough.countDown();
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        say("{\"at\":\"begin\",\"load\":\"" + load + "\"}");
        consumer.start();
        enough.await();
        long nanos = System.nanoTime() - first.get();
        report(load, new Window(), seen.get(), nanos);
        consumer.shutdown();
    }

    /** One message every so many ms, timed from before its send to its push listener. */
    private static void listen(String load, int everyMs, DefaultMQProducer producer) throws Exception {
        String quiet = topic + "_listen";
        producer.send(new Message(quiet, new byte[8]));
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("bench_listen");
        consumer.setNamesrvAddr(namesrv);
        consumer.setInstanceName("bench_listen");
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(quiet, "*");
        CountDownLatch first = new CountDownLatch(1);
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            long now = System.nanoTime();
            messages.forEach(m -> window.done(now - ByteBuffer.wrap(m.getBody()).getLong(), 1));
            first.countDown();
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        first.await();
        beat(producer, quiet, everyMs, warmMs);
        window = new Window();
        say("{\"at\":\"begin\",\"load\":\"" + load + "\"}");
        long start = System.nanoTime();
        beat(producer, quiet, everyMs, runMs);
        Thread.sleep(200);
        report(load, window, window.count.sum(), System.nanoTime() - start);
        consumer.shutdown();
    }

    private static void beat(DefaultMQProducer producer, String quiet, int everyMs, long forMs) throws Exception {
        long end = System.nanoTime() + forMs * 1_000_000;
        while (System.nanoTime() < end) {
            byte[] now = Arrays.copyOf(ByteBuffer.allocate(8).putLong(System.nanoTime()).array(), body.length);
            check(producer.send(new Message(quiet, now)));
            Thread.sleep(everyMs);
        }
    }

    private static void pull(String load) throws Exception {
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer("bench_pull");
        consumer.setNamesrvAddr(namesrv);
        consumer.setInstanceName("bench_pull");
        consumer.start();
        Set<MessageQueue> queues = consumer.fetchSubscribeMessageQueues(topic);
        AtomicLong seen = new AtomicLong();
        Window now = new Window();
        List<Thread> threads = new ArrayList<>();
        say("{\"at\":\"begin\",\"load\":\"" + load + "\"}");
        long start = System.nanoTime();
        for (MessageQueue queue : queues) {
            Thread thread = new Thread(() -> {
                try {
                    pullQueue(consumer, queue, seen, now);
                } catch (Exception error) {
                    System.err.println(error);
                    now.failed.increment();
                }
            });
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        report(load, now, seen.get(), System.nanoTime() - start);
        consumer.shutdown();
    }

    private static void pullQueue(
        DefaultMQPullConsumer consumer, MessageQueue queue, AtomicLong seen, Window now)
        throws Exception {
        long next = consumer.minOffset(queue);
        while (seen.get() < consumeCount) {
            long start = System.nanoTime();
            PullResult result = consumer.pull(queue, "*", next, 32);
            if (result.getPullStatus() != PullStatus.FOUND) {
                return;
            }
            next = result.getNextBeginOffset();
            int count = result.getMsgFoundList().size();
            now.done(System.nanoTime() - start, count);
            seen.addAndGet(count);
        }
    }
}
