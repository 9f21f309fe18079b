import com.alibaba.fastjson.JSONObject;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/**
 * Runs the real mqadmin in this JVM, which saves the two seconds a JVM of its own costs.
 *
 * <p>Spec: args, a list of words. Out: one "mqadmin" with what it wrote to stdout and stderr. A wrong
 * option ends the whole JVM, as the real mqadmin ends its own: System.exit(1).
 */
final class MqAdmin extends MQAdminStartup implements Program {
    @Override
    public void run(JSONObject spec, Out out) {
        String[] args = spec.getJSONArray("args").toJavaList(String.class).toArray(new String[0]);
        JSONObject line = Shown.event("mqadmin");
        // System.out is one per JVM: one command at a time.
        synchronized (MqAdmin.class) {
            PrintStream stdout = System.out;
            PrintStream stderr = System.err;
            ByteArrayOutputStream output = new ByteArrayOutputStream();
            ByteArrayOutputStream errors = new ByteArrayOutputStream();
            System.setOut(new PrintStream(output, true));
            System.setErr(new PrintStream(errors, true));
            try {
                // Some commands keep their connection in a field, and would ask the old servers.
                subCommandList.clear();
                MQAdminStartup.main0(args, null);
            } finally {
                System.out.flush();
                System.err.flush();
                System.setOut(stdout);
                System.setErr(stderr);
            }
            line.put("stdout", output.toString(StandardCharsets.UTF_8));
            line.put("stderr", errors.toString(StandardCharsets.UTF_8));
        }
        out.line(line);
    }
}
