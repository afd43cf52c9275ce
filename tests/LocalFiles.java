import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hive.ql.io.ProxyLocalFileSystem;

/**
 * The local files of PySpark, whose permissions are set in this process. For tests only.
 *
 * <p>Without Hadoop's native library, each file, checksum and directory starts a `chmod`.
 */
public final class LocalFiles extends ProxyLocalFileSystem {
  public LocalFiles() {
    fs = new Raw();
  }

  private static final class Raw extends RawLocalFileSystem {
    @Override
    public void setPermission(Path path, FsPermission permission) throws IOException {
      if (permission.getStickyBit()) { // Java has no name for it
        super.setPermission(path, permission);
        return;
      }
      String names =
          permission.getUserAction().SYMBOL
              + permission.getGroupAction().SYMBOL
              + permission.getOtherAction().SYMBOL;
      Files.setPosixFilePermissions(
          pathToFile(path).toPath(), PosixFilePermissions.fromString(names));
    }
  }
}
