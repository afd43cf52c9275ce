package io.tamis.wire

import java.security.MessageDigest
import java.util.HexFormat

private[tamis] object Digest {

  /** The first bytes of the SHA-256 of these bytes, as hexadecimal digits. */
  def sha256(of: Array[Byte], bytes: Int): String =
    HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(of), 0, bytes)
}
