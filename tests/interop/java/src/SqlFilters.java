import com.alibaba.fastjson.JSONArray;
import com.alibaba.fastjson.JSONObject;
import java.util.HashMap;
import java.util.Map;
import org.apache.rocketmq.filter.FilterFactory;
import org.apache.rocketmq.filter.expression.EvaluationContext;
import org.apache.rocketmq.filter.expression.Expression;
import org.apache.rocketmq.filter.util.BloomFilter;

/**
 * Prints what the real SQL92 filters and bloom filters give.
 *
 * <p>Spec: cases, a list of {sql, properties: a list of objects}; blooms, a list of {errorRate, count, texts}.
 * Out: per case "error" or "results" (true, false, null or "fault"); per bloom the bit count and positions.
 */
final class SqlFilters implements Program {
    public static void main(String[] args) throws Exception {
        Program.main(new SqlFilters(), args);
    }

    @Override
    public void run(JSONObject spec, Out out) {
        JSONArray cases = spec.getJSONArray("cases");
        for (int i = 0; cases != null && i < cases.size(); i++) {
            out.line(evaluated(cases.getJSONObject(i)));
        }
        JSONArray blooms = spec.getJSONArray("blooms");
        for (int i = 0; blooms != null && i < blooms.size(); i++) {
            out.line(positions(blooms.getJSONObject(i)));
        }
    }

    private static JSONObject evaluated(JSONObject one) {
        JSONObject o = new JSONObject(true);
        Expression expression;
        try {
            expression = FilterFactory.INSTANCE.get("SQL92").compile(one.getString("sql"));
        } catch (Exception e) {
            o.put("error", String.valueOf(e.getMessage()));
            return o;
        }
        JSONArray results = new JSONArray();
        for (Object properties : one.getJSONArray("properties")) {
            results.add(result(expression, (JSONObject) properties));
        }
        o.put("results", results);
        return o;
    }

    private static Object result(Expression expression, JSONObject properties) {
        Map<String, Object> map = new HashMap<>();
        properties.forEach((name, value) -> map.put(name, value.toString()));
        try {
            return expression.evaluate(new EvaluationContext() {
                @Override
                public Object get(String name) {
                    return map.get(name);
                }

                @Override
                public Map<String, Object> keyValues() {
                    return map;
                }
            });
        } catch (Throwable e) {
            return "fault";
        }
    }

    private static JSONObject positions(JSONObject one) {
        BloomFilter filter = BloomFilter.createByFn(one.getIntValue("errorRate"), one.getIntValue("count"));
        JSONObject o = new JSONObject(true);
        o.put("bits", filter.getM());
        JSONArray all = new JSONArray();
        for (Object text : one.getJSONArray("texts")) {
            all.add(filter.calcBitPositions(text.toString()));
        }
        o.put("positions", all);
        return o;
    }
}
