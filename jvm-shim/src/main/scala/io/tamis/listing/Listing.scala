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

/** The files and bytes of a table. */
final case class TableSize(files: Long, bytes: Long)

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
final class Listing(
    val directories: Seq[PartitionDirectory],
    val partitionSchema: StructType,
    val groups: Array[ListingGroup],
    val files: Array[FileStatusWithMetadata],
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
  def sizeOf(i: Int): Long = if (changed(i)) -1 else files(i).getLen
  def modified(i: Int): Long = if (changed(i)) -1 else files(i).getModificationTime

  /** The URL-encoded name of a file. */
  def nameOf(i: Int): String = Listing.uriOf(files(i)).substring(nameStarts(groupOf(i)))

  lazy val totalBytes: Long = { var sum = 0L; files.foreach(f => sum += f.getLen); sum }

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
      Array.empty,
      Array.empty,
      Array.empty,
      emptyHash
    )

  def of(directories: Seq[PartitionDirectory], partitionSchema: StructType): Listing = {
    val groups = mutable.ArrayBuffer.empty[ListingGroup]
    val files = Array.newBuilder[FileStatusWithMetadata]
    val groupOf = Array.newBuilder[Int]
    val nameStarts = Array.newBuilder[Int]
    val hash = emptyHash
    directories.foreach { partition =>
      val seen =
        mutable.HashMap.empty[String, Int] // a partition may hold files of several directories
      var last = ""
      var lastGroup = -1
      partition.files.foreach { file =>
        val uri = uriOf(file)
        // `lastIndexOf` would take most of the time of the first query
        val isBeside = lastGroup >= 0 && uri.startsWith(last) && uri.indexOf('/', last.length) < 0
        if (!isBeside) {
          last = uri.substring(0, uri.lastIndexOf('/') + 1)
          lastGroup = seen.getOrElseUpdate(
            last, {
              groups += ListingGroup(canonical(last), partition.values)
              nameStarts += last.length
              groups.length - 1
            }
          )
        }
        files += file
        groupOf += lastGroup
        // in this loop, because another one over the files takes about as long as this one
        hash.add(uri.substring(last.length))
        hash.add(file.getLen, file.getModificationTime, lastGroup)
      }
    }
    new Listing(
      directories,
      partitionSchema,
      groups.toArray,
      files.result(),
      groupOf.result(),
      nameStarts.result(),
      hash
    )
  }
}
