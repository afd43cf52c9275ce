import java.nio.ByteBuffer;
import java.util.Map;
import org.apache.iceberg.encryption.KeyManagementClient;

/** Wraps the keys of Iceberg's tables by flipping their bits. For tests only. */
public final class FixedKeys implements KeyManagementClient {
  @Override
  public ByteBuffer wrapKey(ByteBuffer key, String wrappingKeyId) {
    byte[] bytes = new byte[key.remaining()];
    key.duplicate().get(bytes);
    for (int i = 0; i < bytes.length; i++) bytes[i] = (byte) ~bytes[i];
    return ByteBuffer.wrap(bytes);
  }

  @Override
  public ByteBuffer unwrapKey(ByteBuffer wrappedKey, String wrappingKeyId) {
    return wrapKey(wrappedKey, wrappingKeyId);
  }

  @Override
  public void initialize(Map<String, String> properties) {}
}
