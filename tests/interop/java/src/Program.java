import com.alibaba.fastjson.JSONObject;

/** One thing the tests ask of the Java client: a JSON object in, JSON lines out. */
interface Program {
    void run(JSONObject spec, Out out) throws Exception;

    /** Where a program's lines go, and how it hears that it should end early. */
    interface Out {
        void line(JSONObject line);

        /** Wait until the caller asks to stop, or until the time is over; true = asked. */
        boolean awaitStop(long millis) throws InterruptedException;
    }

    /** Run one program on its own: the first argument is its JSON object. */
    static void main(Program program, String[] args) throws Exception {
        JSONObject spec = args.length > 0 ? JSONObject.parseObject(args[0]) : new JSONObject();
        program.run(spec, new Out() {
            @Override
            public void line(JSONObject line) {
                System.out.println(line);
            }

            @Override
            public boolean awaitStop(long millis) throws InterruptedException {
                Thread.sleep(millis);
                return false;
            }
        });
    }
}
