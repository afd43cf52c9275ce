package io.tamis.wire

import scala.jdk.CollectionConverters._

/** Where a table format records what it knows about the files of a table, as the Python package
  * reads it.
  */
sealed trait FormatSnapshot

/** A version of a Delta table, by the files of its log (tamis.wire.delta).
  *
  * All locations are URL-encoded URIs.
  *
  * @param root
  *   the directory of the table
  * @param checkpoint
  *   the files of the checkpoint; those that a checkpoint of version 2 names are not among them
  * @param commits
  *   the later commits, in order
  * @param schema
  *   Spark's JSON of the schema, with the names and ids of column mapping
  * @param columnMapping
  *   none, name or id
  */
final case class DeltaSnapshot(
    version: Long,
    root: String,
    checkpoint: Seq[String],
    commits: Seq[String],
    schema: String,
    columnMapping: String,
    partitionColumns: Seq[String]
) extends FormatSnapshot

/** A snapshot of an Iceberg table (tamis.wire.iceberg).
  *
  * @param snapshotId
  *   None: the table has no snapshot, and so no files
  * @param manifestList
  *   its location as Iceberg writes it
  * @param schema
  *   Iceberg's JSON of the schema to read with
  * @param specs
  *   Iceberg's JSON of every partition spec of the table
  * @param nameMapping
  *   the property schema.name-mapping.default
  * @param tableUuid
  *   distinguishes the table from others at the same place; None: old tables have none
  */
final case class IcebergSnapshot(
    formatVersion: Int,
    snapshotId: Option[Long],
    manifestList: Option[String],
    schema: String,
    specs: Seq[String],
    nameMapping: Option[String],
    tableUuid: Option[String]
) extends FormatSnapshot

/** Requests the data files of a snapshot, as `<id>.iceberg.arrow` in this directory
  * (tamis.serve.iceberg_files).
  *
  * @param patienceMs
  *   the most milliseconds for which planning waits
  */
final case class IcebergFilesRequest(
    directory: String,
    snapshot: IcebergSnapshot,
    storage: Map[String, String],
    cacheDirectory: Option[String],
    patienceMs: Long
) extends Request[IcebergFilesAnswer] {
  override def read(answer: String): IcebergFilesAnswer = {
    val root = Messages.document(answer, id)
    val problem = Option(root.get("problem")).filterNot(_.isNull).map(_.asText)
    val manifests = root.path("manifests").elements.asScala.map(_.asText).toIndexedSeq
    IcebergFilesAnswer(problem, root.path("is_pending").asBoolean, manifests)
  }
}

/** @param problem
  *   why the files were not written
  * @param isPending
  *   they are still being read, for a later query
  * @param manifests
  *   locations of the manifests of the files, as Iceberg writes them
  */
final case class IcebergFilesAnswer(
    problem: Option[String],
    isPending: Boolean,
    manifests: IndexedSeq[String]
)
