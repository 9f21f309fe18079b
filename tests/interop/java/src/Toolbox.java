import com.alibaba.fastjson.JSONObject;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * One JVM that runs the programs beside it, several at a time, as the tests ask on stdin.
 *
 * <p>In: {"id": 1, "program": "Producer", "spec": {..}} or {"id": 1, "stop": true}.
 * Out: {"id": 1, "line": {..}} any number of times, then {"id": 1, "done": true, "error": text or null}.
 */
public final class Toolbox {
    private static final Map<String, Program> PROGRAMS = Map.ofEntries(
        Map.entry("Producer", new Producer()),
        Map.entry("PushConsumer", new PushConsumer()),
        Map.entry("PullConsumer", new PullConsumer()),
        Map.entry("AllocateVectors", new AllocateVectors()),
        Map.entry("OpenStores", new OpenStores()),
        Map.entry("Requester", new Requester()),
        Map.entry("Replier", new Replier()),
        Map.entry("Parameters", new Parameters()),
        Map.entry("SqlFilters", new SqlFilters()),
        Map.entry("TransactionProducer", new TransactionProducer()),
        Map.entry("MqAdmin", new MqAdmin()));

    private static final Map<Integer, Job> JOBS = new ConcurrentHashMap<>();
    private static final PrintStream OUT = System.out;

    private Toolbox() {
    }

    public static void main(String[] args) throws Exception {
        // Client libraries that print must not write between the JSON lines.
        System.setOut(System.err);
        say(Shown.event("ready"));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String text = in.readLine(); text != null; text = in.readLine()) {
            JSONObject order = JSONObject.parseObject(text);
            int id = order.getIntValue("id");
            if (order.getBooleanValue("stop")) {
                Job job = JOBS.get(id);
                if (job != null) {
                    job.stop.countDown();
                }
            } else {
                Job job = new Job(id, PROGRAMS.get(order.getString("program")), order.getJSONObject("spec"));
                JOBS.put(id, job);
                Thread thread = new Thread(job, "job-" + id);
                thread.setDaemon(true);
                thread.start();
            }
        }
        System.exit(0);
    }

    private static synchronized void say(JSONObject line) {
        OUT.println(line);
        OUT.flush();
    }

    private static final class Job implements Runnable, Program.Out {
        private final CountDownLatch stop = new CountDownLatch(1);
        private final int id;
        private final Program program;
        private final JSONObject spec;

        Job(int id, Program program, JSONObject spec) {
            this.id = id;
            this.program = program;
            this.spec = spec;
        }

        @Override
        public void run() {
            JSONObject done = new JSONObject(true);
            done.put("id", id);
            done.put("done", true);
            try {
                program.run(spec, this);
            } catch (Throwable e) {
                StringWriter text = new StringWriter();
                e.printStackTrace(new PrintWriter(text));
                done.put("error", text.toString());
            }
            JOBS.remove(id);
            say(done);
        }

        @Override
        public void line(JSONObject line) {
            JSONObject o = new JSONObject(true);
            o.put("id", id);
            o.put("line", line);
            say(o);
        }

        @Override
        public boolean awaitStop(long millis) throws InterruptedException {
            return stop.await(millis, TimeUnit.MILLISECONDS);
        }
    }
}
