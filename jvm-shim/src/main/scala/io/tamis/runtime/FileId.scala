package io.tamis.runtime

import io.tamis.listing.Listing
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.types.{DataType, LongType}
import org.apache.spark.unsafe.types.UTF8String

/** The number of the file that a row comes from: Spark's `xxhash64` of its path, size and
  * modification time, where the path is spelled as in listings. NULLs are skipped.
  *
  * Rows of a file follow each other, and their path is about 100 bytes long. Rows are grouped by
  * this number instead, and it is computed once for each file of a task.
  */
final case class FileId(path: Expression, size: Expression, modified: Expression)
    extends TernaryExpression {
  override def first: Expression = path
  override def second: Expression = size
  override def third: Expression = modified
  override def dataType: DataType = LongType
  override def nullable: Boolean = false
  override def prettyName: String = "file_id"

  override def eval(row: InternalRow): Any = {
    val (bytes, time) = (size.eval(row), modified.eval(row))
    FileId.of(
      path.eval(row).asInstanceOf[UTF8String],
      bytes == null,
      Option(bytes).fold(0L)(_.asInstanceOf[Long]),
      time == null,
      Option(time).fold(0L)(_.asInstanceOf[Long])
    )
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val last = ctx.addMutableState(FileId.Last, "lastFile", v => s"$v = new ${FileId.Last}();")
    val (p, s, m) = (path.genCode(ctx), size.genCode(ctx), modified.genCode(ctx))
    val name = ctx.freshName("path")
    ev.copy(
      code = code"""
        ${p.code}
        ${s.code}
        ${m.code}
        UTF8String $name = ${p.isNull} ? null : ${p.value};
        long ${ev.value} = $last.id(
          $name, ${s.isNull}, ${s.value}, ${m.isNull}, ${m.value});
      """,
      isNull = FalseLiteral
    )
  }

  override protected def withNewChildrenInternal(
      newFirst: Expression,
      newSecond: Expression,
      newThird: Expression
  ): FileId = copy(newFirst, newSecond, newThird)
}

object FileId {
  private val Last = classOf[LastFile].getName

  /** The seed of `xxhash64`. */
  private val Seed = 42L

  def of(path: UTF8String, noSize: Boolean, size: Long, noTime: Boolean, time: Long): Long = {
    val named = if (path == null) Seed else hash(Listing.canonical(path.toString))
    val sized = if (noSize) named else XXH64.hashLong(size, named)
    if (noTime) sized else XXH64.hashLong(time, sized)
  }

  private def hash(text: String): Long = {
    val bytes = UTF8String.fromString(text)
    XXH64.hashUnsafeBytes(bytes.getBaseObject, bytes.getBaseOffset, bytes.numBytes, Seed)
  }
}

/** The file of the last row. Generated code has one for each task. */
final class LastFile {
  private var path: UTF8String = _

  /** What `path` is a copy of. The rows of a batch of columns have the same object. */
  private var original: UTF8String = _
  private var noSize, noTime = true
  private var size, time = 0L
  private var known = 0L

  def id(path: UTF8String, noSize: Boolean, size: Long, noTime: Boolean, time: Long): Long = {
    val isSame = this.path != null && ((original eq path) || this.path.equals(path)) &&
      this.size == size && this.time == time && this.noSize == noSize && this.noTime == noTime
    if (isSame) original = path
    else {
      // a copy, because the bytes of a row are overwritten by the next one
      this.path = if (path == null) null else path.clone()
      original = path
      this.noSize = noSize
      this.size = size
      this.noTime = noTime
      this.time = time
      known = FileId.of(path, noSize, size, noTime, time)
    }
    known
  }
}
