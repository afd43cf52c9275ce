package io.tamis.wire

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}

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
  * @param state
  *   a digest of the id of the table, and of the sizes and modification times of these files: a
  *   table that is created again at the same place has files of the same names
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
    state: String,
    schema: String,
    columnMapping: String,
    partitionColumns: Seq[String]
) extends FormatSnapshot

/** The columns of a Delta table with column mapping, as in [[DeltaSnapshot]]. */
final case class MappedColumns(schema: String, columnMapping: String, partitionColumns: Seq[String])

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
  * @param manifests
  *   the data manifests that are read, by their ordinals in the manifest list, in the form of
  *   [[Messages.kept]]; None: all of them
  */
final case class IcebergSnapshot(
    formatVersion: Int,
    snapshotId: Option[Long],
    manifestList: Option[String],
    schema: String,
    specs: Seq[String],
    nameMapping: Option[String],
    tableUuid: Option[String],
    manifests: Option[ObjectNode] = None
) extends FormatSnapshot

/** Requests the data files of a snapshot, as `<id>.iceberg.arrow` in this directory
  * (tamis.serve.iceberg_files).
  *
  * @param conjuncts
  *   files may be left out if none of their rows satisfies all of these
  * @param among
  *   locations of data manifests; files of others may be left out, too. None: any
  * @param known
  *   the manifests of listings that are known here
  * @param patienceMs
  *   the most milliseconds for which planning waits
  */
final case class IcebergFilesRequest(
    directory: String,
    snapshot: IcebergSnapshot,
    conjuncts: ArrayNode,
    among: Option[Set[String]],
    known: Seq[ObjectNode],
    storage: Map[String, String],
    cacheDirectory: Option[String],
    patienceMs: Long
) extends Request[IcebergFilesAnswer] {
  override def read(answer: String): IcebergFilesAnswer = {
    val root = Messages.document(answer, id)
    def present(field: String) = Option(root.get(field)).filterNot(_.isNull)
    val manifests = root.path("manifests").elements.asScala.map(_.asText).toIndexedSeq
    IcebergFilesAnswer(
      present("problem").map(_.asText),
      root.path("is_pending").asBoolean,
      manifests,
      present("listed").collect { case set: ObjectNode => set },
      present("table_files").map(_.asLong),
      present("table_records").map(_.asLong),
      present("known").map(_.asInt),
      root.path("may_pass").asBoolean
    )
  }
}

/** @param problem
  *   why the files were not written
  * @param isPending
  *   they are still being read, for a later query
  * @param manifests
  *   locations of the manifests of the files, as Iceberg writes them
  * @param listed
  *   these manifests, as in [[IcebergSnapshot]]; None: all of the snapshot
  * @param tableFiles
  *   the files of all manifests; known if not all are listed
  * @param tableRecords
  *   the rows of these, if none is deleted
  * @param known
  *   no files were written, because the listing at this place of the request serves
  * @param mayPass
  *   the storage failed, so another attempt may succeed
  */
final case class IcebergFilesAnswer(
    problem: Option[String],
    isPending: Boolean,
    manifests: IndexedSeq[String],
    listed: Option[ObjectNode],
    tableFiles: Option[Long],
    tableRecords: Option[Long],
    known: Option[Int],
    mayPass: Boolean
)
