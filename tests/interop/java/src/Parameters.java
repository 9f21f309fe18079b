import com.alibaba.fastjson.JSONObject;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;

/**
 * Prints the parameters of the real client classes with their defaults, as their getters tell them.
 *
 * <p>Spec: nothing. Out: a line for each class: its name, and numbers, truths and texts by parameter.
 */
final class Parameters implements Program {
    public static void main(String[] args) throws Exception {
        Program.main(new Parameters(), args);
    }

    @Override
    public void run(JSONObject spec, Out out) throws Exception {
        out.line(of(new ClientConfig()));
        out.line(of(new DefaultMQProducer("G")));
        out.line(of(new DefaultMQPushConsumer("G")));
        out.line(of(new DefaultLitePullConsumer("G")));
    }

    private static JSONObject of(Object made) throws Exception {
        JSONObject values = new JSONObject(true);
        for (Method method : made.getClass().getMethods()) {
            String name = method.getName();
            int skip = name.startsWith("get") ? 3 : name.startsWith("is") ? 2 : 0;
            boolean settable = skip > 0 && name.length() > skip && hasSetter(made, name.substring(skip));
            if (!settable || method.getParameterCount() > 0 || Modifier.isStatic(method.getModifiers())) {
                continue;
            }
            Class<?> type = method.getReturnType();
            if (type.isPrimitive() || type == String.class || type.isEnum()) {
                Object value = told(made, method);
                String parameter = Character.toLowerCase(name.charAt(skip)) + name.substring(skip + 1);
                values.put(parameter, value instanceof Enum ? ((Enum<?>) value).name() : value);
            }
        }
        JSONObject line = new JSONObject(true);
        line.put("name", made.getClass().getSimpleName());
        line.put("values", values);
        return line;
    }

    private static Object told(Object made, Method method) throws IllegalAccessException {
        try {
            return method.invoke(made);
        } catch (InvocationTargetException e) {
            return "told after the start";
        }
    }

    private static boolean hasSetter(Object made, String name) {
        for (Method method : made.getClass().getMethods()) {
            if (method.getName().equals("set" + name) && method.getParameterCount() == 1) {
                return true;
            }
        }
        return false;
    }
}
