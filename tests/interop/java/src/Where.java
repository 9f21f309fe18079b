import org.apache.rocketmq.client.ClientConfig;

/** Where a client finds its servers, and how long it waits for their answers. */
final class Where {
    /** Its own 3 seconds for a route or a heartbeat are short on a busy machine. */
    private static final int API_TIMEOUT_MS = 60_000;

    private Where() {
    }

    static void set(ClientConfig client, String namesrv) {
        client.setNamesrvAddr(namesrv);
        client.setMqClientApiTimeout(API_TIMEOUT_MS);
    }
}
