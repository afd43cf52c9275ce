package io.tamis.listing

import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.XXH64
import org.apache.spark.sql.execution.datasources.{FileStatusWithMetadata, PartitionDirectory}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.Platform

/** One directory with one tuple of partition values.
  *
  * @param directory
  *   URL-encoded absolute URI without a trailing slash
  * @param values
  *   partition values in the order of the partition schema
  */
final case class ListingGroup(directory: String, values: InternalRow)

/** The files and bytes of a table, and its rows if they are known. */
final case class TableSize(files: Long, bytes: Long, rows: Option[Long] = None)

/** Spark's listing of a relation, unchanged, with an ordinal for every file.
  *
  * An answer of the planner refers to files only by these ordinals.
  *
  * @param nameStarts
  *   for each group, where the names of its files begin in their URIs
  * @param ofFiles
  *   hash of the files as Spark listed them
  * @param changed
  *   ordinals of files that are no longer as Spark listed them
  * @param ofTable
  *   the size of the table if the files are only those that another planner has left
  */
final class Listing private[listing] (
    val directories: Seq[PartitionDirectory],
    val partitionSchema: StructType,
    val groups: Array[ListingGroup],
    val files: ListedFiles,
    val groupOf: Array[Int],
    nameStarts: Array[Int],
    ofFiles: Listing.Hash,
    val changed: Set[Int] = Set.empty,
    ofTable: Option[TableSize] = None
) {
  def size: Int = files.length

  /** The size of the table, of which these may be only some of the files. */
  def tableSize: TableSize = ofTable.getOrElse(TableSize(size.toLong, totalBytes))
  def isWholeTable: Boolean = ofTable.forall(_.files == size)

  /** The same files, of a table of this size. */
  private[tamis] def partOf(table: Option[TableSize]): Listing = copy(ofTable = table)

  /** The same files, some of which were overwritten or deleted since. */
  private[tamis] def knowing(changed: Set[Int]): Listing = copy(changed = changed)

  private def copy(
      changed: Set[Int] = changed,
      ofTable: Option[TableSize] = ofTable
  ): Listing =
    new Listing(
      directories,
      partitionSchema,
      groups,
      files,
      groupOf,
      nameStarts,
      ofFiles,
      changed,
      ofTable
    )
  private[tamis] lazy val watch = new StaleFileCheck.Watch(this)

  /** Size in bytes and modification time in milliseconds since 1970 that the statistics of a file
    * must match; -1 for a changed file, which no statistics match.
    */
  def sizeOf(i: Int): Long = if (changed(i)) -1 else files.bytes(i)
  def modified(i: Int): Long = if (changed(i)) -1 else files.modified(i)

  /** The URL-encoded name of a file. */
  def nameOf(i: Int): String = files.uri(i).substring(nameStarts(groupOf(i)))

  lazy val totalBytes: Long = { var sum = 0L; files.indices.foreach(sum += files.bytes(_)); sum }

  /** Hash of every directory, partition value, file name, size and modification time, in order. */
  lazy val fingerprint: String = {
    val hash = ofFiles.copy()
    hash.add(partitionSchema.json) // the same text is another value in another type
    groups.foreach { g =>
      val values = g.values
        .toSeq(partitionSchema)
        .map(v => if (v == null) "\u0000" else v.toString + "\u0001")
        .mkString
      hash.add(g.directory)
      hash.add(values)
    }
    changed.toSeq.sorted.foreach(i => hash.add(-1, -1, i))
    hash.toString
  }
}

object Listing {

  /** 128 bits that depend on everything that was added, in order. */
  private[listing] final class Hash(private var a: Long, private var b: Long) {
    def copy(): Hash = new Hash(a, b)
    def add(text: String): Unit = {
      val bytes = text.getBytes(UTF_8)
      a = XXH64.hashUnsafeBytes(bytes, Platform.BYTE_ARRAY_OFFSET.toLong, bytes.length, a)
      b = XXH64.hashUnsafeBytes(bytes, Platform.BYTE_ARRAY_OFFSET.toLong, bytes.length, b)
    }
    def add(size: Long, time: Long, group: Int): Unit = {
      a = XXH64.hashLong(group.toLong, XXH64.hashLong(time, XXH64.hashLong(size, a)))
      b = XXH64.hashLong(group.toLong, XXH64.hashLong(time, XXH64.hashLong(size, b)))
    }
    override def toString: String = f"$a%016x$b%016x"
  }
  private def emptyHash = new Hash(0x74616d6973L, 0x7369657665L)

  /** URL-encoded URI of a file; java.net.URI caches the string, so repeated calls cost nothing. */
  def uriOf(file: FileStatusWithMetadata): String = file.getPath.toUri.toString

  /** One spelling of a URI: `file:///t`, as in the catalog, and `file:/t/`, as in Hadoop, become
    * `file:/t`.
    */
  def canonical(uri: String): String =
    uri.replaceFirst("^([A-Za-z][A-Za-z0-9+.-]*):///", "$1:/").stripSuffix("/")

  val empty: Listing =
    new Listing(
      Nil,
      new StructType(),
      Array.empty,
      ListedFiles.none,
      Array.empty,
      Array.empty,
      emptyHash
    )

  def of(directories: Seq[PartitionDirectory], partitionSchema: StructType): Listing = {
    val groups = new Groups
    val files = Array.newBuilder[FileStatusWithMetadata]
    directories.foreach { partition =>
      groups.startPartition(partition.values)
      partition.files.foreach { file =>
        files += file
        groups.add(uriOf(file), file.getLen, file.getModificationTime)
      }
    }
    groups.listing(directories, partitionSchema, new FilesOfSpark(files.result()))
  }

  /** The files of a table format without partitions, all changed at the same time.
    *
    * @param uris
    *   URL-encoded, as Hadoop writes them
    */
  private[tamis] def recorded(uris: Array[String], sizes: Array[Long], time: Long): Listing = {
    val groups = new Groups
    groups.startPartition(InternalRow.empty)
    uris.indices.foreach(i => groups.add(uris(i), sizes(i), time))
    val files = new RecordedFiles(uris, sizes, time)
    groups.listing(Seq(PartitionDirectory(InternalRow.empty, files)), new StructType(), files)
  }

  /** Collects what a listing knows about the directories of its files. */
  private final class Groups {
    private val groups = mutable.ArrayBuffer.empty[ListingGroup]
    private val groupOf = Array.newBuilder[Int]
    private val nameStarts = Array.newBuilder[Int]
    private val hash = emptyHash
    private var values = InternalRow.empty
    // a partition may hold files of several directories
    private val seen = mutable.HashMap.empty[String, Int]
    private var last = ""
    private var lastGroup = -1

    def startPartition(values: InternalRow): Unit = {
      this.values = values
      seen.clear()
      last = ""
      lastGroup = -1
    }

    def add(uri: String, size: Long, time: Long): Unit = {
      // `lastIndexOf` would take most of the time of the first query
      val isBeside = lastGroup >= 0 && uri.startsWith(last) && uri.indexOf('/', last.length) < 0
      if (!isBeside) {
        last = uri.substring(0, uri.lastIndexOf('/') + 1)
        lastGroup = seen.getOrElseUpdate(
          last, {
            groups += ListingGroup(canonical(last), values)
            nameStarts += last.length
            groups.length - 1
          }
        )
      }
      groupOf += lastGroup
      // in this loop, because another one over the files takes about as long as this one
      hash.add(uri.substring(last.length))
      hash.add(size, time, lastGroup)
    }

    def listing(
        directories: Seq[PartitionDirectory],
        partitionSchema: StructType,
        files: ListedFiles
    ): Listing =
      new Listing(
        directories,
        partitionSchema,
        groups.toArray,
        files,
        groupOf.result(),
        nameStarts.result(),
        hash
      )
  }
}
