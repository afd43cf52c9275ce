package io.tamis.formats.iceberg

import io.tamis.formats.Members
import java.util

import scala.jdk.CollectionConverters._

/** Iceberg's own planning of some data manifests of a snapshot.
  *
  * Iceberg plans each data manifest on its own: whether a file passes the filter of the scan
  * depends on the entry of the file alone, and which deletes apply to it on the delete manifests,
  * which all stay. So the tasks are those of the whole snapshot whose files these manifests list.
  * They come from a copy of Iceberg's scan, with its filter, columns, options and metrics reporter,
  * over a view of its table in which the snapshot has no other data manifests.
  *
  * Members seen in Iceberg 1.12.0: `newRefinedScan`, `tableSchema` and `context` of BaseScan,
  * `snapshot` and `planFiles` of SnapshotScan.
  */
private[iceberg] object SomeManifests {

  /** The scans that plan as described; others are not known. */
  private val Known =
    Set("org.apache.iceberg.DataTableScan", "org.apache.iceberg.SparkDistributedDataScan")
  private val Adapter = "org.apache.iceberg.BatchScanAdapter"
  private val Interfaces =
    Seq("org.apache.iceberg.Table", "org.apache.iceberg.HasTableOperations")

  /** The tasks for the files that these manifests list.
    *
    * @param scan
    *   Iceberg's scan of a snapshot; null for a table without one
    * @param locations
    *   of the manifests
    * @return
    *   None: Iceberg has to plan the whole snapshot
    */
  def tasks(scan: AnyRef, locations: Set[String]): Option[Seq[AnyRef]] =
    for {
      of <- Option(scan).map(adapted) if Known(of.getClass.getName)
      table = Members.call(of, "table")
      snapshot <- Option(Members.call(of, "snapshot"))
      manifests = dataManifests(snapshot, table)
      chosen = manifests.filter(m => locations(Members.get[String](m, "path")))
      // otherwise the files were listed from other manifests than those that Iceberg reads
      if chosen.size == locations.size && chosen.size < manifests.size
    } yield planned(of, view(table, snapshot, chosen))

  private def adapted(scan: AnyRef): AnyRef =
    if (scan.getClass.getName == Adapter) Members.field(scan, "scan") else scan

  private def dataManifests(snapshot: AnyRef, table: AnyRef): Seq[AnyRef] = Members
    .get[util.List[AnyRef]](snapshot, "dataManifests", Members.call(table, "io"))
    .asScala
    .toSeq

  private def planned(scan: AnyRef, table: AnyRef): Seq[AnyRef] = {
    val schema = Members.call(scan, "tableSchema")
    val copy = Members.call(scan, "newRefinedScan", table, schema, Members.call(scan, "context"))
    val files = Members.get[java.lang.Iterable[AnyRef] with AutoCloseable](copy, "planFiles")
    try files.asScala.toVector
    finally files.close() // which sends Iceberg's report of the scan
  }

  /** The table, whose snapshot has only these data manifests. */
  private def view(table: AnyRef, snapshot: AnyRef, manifests: Seq[AnyRef]): AnyRef = {
    val loader = table.getClass.getClassLoader
    val chosen = new util.ArrayList(manifests.asJava)
    val id = Members.call(snapshot, "snapshotId")
    val ofSnapshot = Altered(loader, Seq("org.apache.iceberg.Snapshot"), snapshot) {
      (method, result) =>
        if (method == "dataManifests") chosen else result
    }
    Altered(loader, Interfaces, table) { (method, result) =>
      val isSnapshot = method == "snapshot" || method == "currentSnapshot"
      if (isSnapshot && result != null && Members.call(result, "snapshotId") == id) ofSnapshot
      else result
    }
  }
}
