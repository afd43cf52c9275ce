package io.tamis.planning

import io.tamis.bridge.SidecarSupervisor
import io.tamis.listing.ArrowFile
import io.tamis.wire.Verdict
import java.nio.file.Path

import org.apache.spark.sql.catalyst.util.MapData
import org.apache.spark.sql.types.StringType

/** What statistics prove about one file (tamis.serve.detail.evidence).
  *
  * @param rows
  *   number of rows of the file, if known
  * @param verdict
  *   about all conjuncts together; None: nothing is known about the file
  * @param ruledOut
  *   the first conjunct that alone rules the file out; -1: the file has no rows
  * @param together
  *   the conjunct up to which all of them together rule the file out
  * @param isRemembered
  *   an earlier scan found no row in the file that passes
  * @param statistics
  *   cells of the public `files` table, as Spark SQL literals
  */
final case class Evidence(
    rows: Option[Long],
    verdict: Option[Verdict],
    ruledOut: Option[Int],
    together: Option[Int],
    statistics: Map[String, String],
    isRemembered: Boolean
)

object Evidence {
  def file(id: String): Path = SidecarSupervisor.privateDirectory.resolve(s"$id.evidence.arrow")

  /** Reads the evidence that the sidecar wrote.
    *
    * @param files
    *   expected number of files
    */
  def read(file: Path, files: Int): Seq[Evidence] = {
    val contents = ArrowFile.read(file) { row =>
      def when[A](i: Int)(value: => A): Option[A] = Option.when(!row.isNullAt(i))(value)
      Evidence(
        when(0)(row.getLong(0)),
        when(1)(Verdict.of(row.getUTF8String(1).toString)),
        when(2)(row.getInt(2)),
        when(3)(row.getInt(3)),
        when(4)(texts(row.getMap(4))).getOrElse(Map.empty),
        row.getBoolean(5)
      )
    }
    require(contents.rows.size == files, s"${contents.rows.size} rows for $files files")
    contents.rows
  }

  private def texts(map: MapData): Map[String, String] = {
    val (keys, values) = (map.keyArray(), map.valueArray())
    (0 until map.numElements())
      .map(i => keys.get(i, StringType).toString -> values.get(i, StringType).toString)
      .toMap
  }
}
