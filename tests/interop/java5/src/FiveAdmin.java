import com.alibaba.fastjson.JSON;
import com.alibaba.fastjson.JSONArray;
import com.alibaba.fastjson.JSONObject;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/**
 * Runs the real mqadmin of 5.x, one command after the other, in one JVM.
 *
 * <p>In and out as of the Toolbox of 4.9: an order {"id", "spec": {"args": [...]}} is answered with a line that has
 * what the command wrote to stdout and stderr, and with "done". A wrong option ends the JVM, as it ends the tool.
 */
public final class FiveAdmin extends MQAdminStartup {
    private FiveAdmin() {
    }

    public static void main(String[] args) {
        PrintStream out = System.out;
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        out.println("{\"event\":\"ready\"}");
        out.flush();
        for (String line : (Iterable<String>) orders.lines()::iterator) {
            JSONObject order = JSON.parseObject(line);
            JSONArray words = order.getJSONObject("spec").getJSONArray("args");
            JSONObject told = new JSONObject(true);
            told.put("id", order.getIntValue("id"));
            told.put("line", command(words.toJavaList(String.class).toArray(new String[0])));
            out.println(told);
            out.println("{\"id\":" + order.getIntValue("id") + ",\"done\":true}");
            out.flush();
        }
        System.exit(0);
    }

    private static JSONObject command(String[] words) {
        PrintStream stdout = System.out;
        PrintStream stderr = System.err;
        ByteArrayOutputStream output = new ByteArrayOutputStream();
        ByteArrayOutputStream errors = new ByteArrayOutputStream();
        System.setOut(new PrintStream(output, true));
        System.setErr(new PrintStream(errors, true));
        try {
            // Some commands keep their connection in a field, and would ask the old servers.
            SUB_COMMANDS.clear();
            main0(words, null);
        } finally {
            System.setOut(stdout);
            System.setErr(stderr);
        }
        JSONObject told = new JSONObject(true);
        told.put("event", "mqadmin");
        told.put("stdout", output.toString(StandardCharsets.UTF_8));
        told.put("stderr", errors.toString(StandardCharsets.UTF_8));
        return told;
    }
}
