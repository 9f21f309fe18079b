import com.alibaba.fastjson.JSONObject;
import org.apache.rocketmq.acl.common.AclClientRPCHook;
import org.apache.rocketmq.acl.common.SessionCredentials;
import org.apache.rocketmq.remoting.RPCHook;

/** The hook that signs a program's requests: spec keys accessKey, secretKey and securityToken. */
final class Keys {
    private Keys() {
    }

    /** Return the hook, null where the spec has no key. */
    static RPCHook of(JSONObject spec) {
        String accessKey = spec.getString("accessKey");
        if (accessKey == null) {
            return null;
        }
        String token = spec.getString("securityToken");
        return new AclClientRPCHook(token == null
            ? new SessionCredentials(accessKey, spec.getString("secretKey"))
            : new SessionCredentials(accessKey, spec.getString("secretKey"), token));
    }
}
