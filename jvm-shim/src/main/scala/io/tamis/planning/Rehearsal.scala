package io.tamis.planning

import io.tamis.bridge.{AnyFailure, Sidecar, SidecarSupervisor}
import io.tamis.listing.{Listing, Snapshots}
import io.tamis.wire._
import java.nio.file.{Files, Path}

import org.apache.hadoop.fs.{FileStatus, Path => HadoopPath}
import org.apache.hadoop.util.ShutdownHookManager
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.datasources.{FileStatusWithMetadata, PartitionDirectory}
import org.apache.spark.sql.types.{LongType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String
import org.slf4j.LoggerFactory

/** Plans scans of tables that do not exist, in the background, when the driver starts, and loads
  * the classes of rules and scans: the JVM then has loaded and partly compiled what the first query
  * needs. Without it, the first query takes about 0.3 seconds longer. It ends when a query comes,
  * which would have to share the processor.
  */
private[tamis] object Rehearsal {
  private val log = LoggerFactory.getLogger("io.tamis.sidecar")
  private val Times = 4
  private val FilesEach = 2000

  /** Plans with this sidecar. A failure means nothing: queries report it, if it happens again. */
  def of(sidecar: Sidecar): Unit = {
    val directory = SidecarSupervisor.privateDirectory
    def isWanted = !SidecarSupervisor.isInUse && Files.isDirectory(directory) &&
      !ShutdownHookManager.get().isShutdownInProgress
    try {
      (1 to Times).iterator.takeWhile(_ => isWanted).foreach(plan(sidecar, directory, _))
      PlanningClasses.load(isWanted)
    } catch { case AnyFailure(e) => log.debug("cannot plan in advance", e) }
  }

  private def plan(sidecar: Sidecar, directory: Path, number: Int): Unit = {
    val listing = Listing.of(Seq(partition(number, 0), partition(number, 1)), partitions)
    try {
      Snapshots.write(listing, directory)
      val request = PlanRequest(scan(listing, directory))
      val answer = request.read(sidecar.planner.plan(request.toJson))
      FileSelection.of(listing, answer.kept).directories
    } finally Snapshots.paths(listing, directory).foreach(Files.deleteIfExists(_))
  }

  private val partitions = StructType.fromDDL("day STRING")

  private def partition(number: Int, day: Int): PartitionDirectory = {
    val files = (0 until FilesEach / 2).map { i =>
      val path = new HadoopPath(f"file:/nonexistent/tamis-rehearsal/day=$day/part-$i%05d.parquet")
      FileStatusWithMetadata(new FileStatus(1000L + i, false, 1, 1 << 20, number.toLong, path))
    }
    PartitionDirectory(InternalRow(UTF8String.fromString(day.toString)), files)
  }

  private def scan(listing: Listing, directory: Path): ScanRequest = {
    val (id, day) = (AttributeReference("id", LongType)(), AttributeReference("day", StringType)())
    val filters = Seq(
      IsNotNull(id),
      And(GreaterThanOrEqual(id, Literal(1L)), LessThan(id, Literal(9L))),
      In(day, Seq(Literal("0"), Literal("2")))
    )
    ScanRequest(
      SnapshotOfFiles(listing.fingerprint, directory.toString, listing.size),
      TableOfFiles(
        "rehearsal",
        caseSensitive = false,
        Seq("file:/nonexistent/tamis-rehearsal"),
        Seq(PartitionColumn("day", ExpressionWriter.typeName(StringType)))
      ),
      IndexSettings(enabled = false, None, 0, 0, None),
      Map.empty,
      None,
      new ExpressionWriter(Set.empty).writeAll(filters)
    )
  }
}
