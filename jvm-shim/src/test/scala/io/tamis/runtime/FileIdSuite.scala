package io.tamis.runtime

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types.{LongType, StringType}
import org.apache.spark.unsafe.types.UTF8String

class FileIdSuite extends munit.FunSuite {
  private val columns = Seq(
    BoundReference(0, StringType, nullable = true),
    BoundReference(1, LongType, nullable = true),
    BoundReference(2, LongType, nullable = true)
  )
  private val id = FileId(columns(0), columns(1), columns(2))

  private def row(path: String, size: Any, modified: Any): InternalRow =
    InternalRow(UTF8String.fromString(path), size, modified)

  private def hash(path: String, size: Any, modified: Any): Any =
    new XxHash64(columns).eval(row(path, size, modified))

  // some differ from the one before in one part only; paths of the same length share their memory
  private val files = Seq(
    ("file:/t/a.parquet", 7L, 1000L),
    ("file:/t/a.parquet", 7L, 1000L),
    ("file:/t/b.parquet", 7L, 1000L),
    ("file:/t/b.parquet", 8L, 1000L),
    ("file:/t/b.parquet", 8L, 1001L),
    ("file:/t/b.parquet", null, 1001L),
    ("file:/t/b.parquet", 0L, 1001L),
    ("file:/t/b.parquet", 0L, null),
    ("file:/t/b.parquet", 0L, 0L),
    (null, null, null),
    ("", null, null),
    ("s3a://bucket/größe=1/a b.parquet", 1L << 40, 1L),
    ("file:/t/a.parquet", 7L, 1000L)
  )

  test("the number is Spark's hash, in whatever way it is computed") {
    val compiled = UnsafeProjection.create(Seq(id))
    val copied = UnsafeProjection.create(columns)
    for ((path, size, modified) <- files) {
      val expected = hash(path, size, modified)
      assertEquals(id.eval(row(path, size, modified)), expected)
      // the memory of the row is that of the row before
      val found: Any = compiled(copied(row(path, size, modified))).getLong(0)
      assertEquals(found, expected, path)
    }
    assertEquals(files.map { case (p, s, m) => hash(p, s, m) }.distinct.size, files.size - 2)
  }

  test("an empty authority is left out") {
    assertEquals(id.eval(row("file:///t/a.parquet", 1L, 2L)), hash("file:/t/a.parquet", 1L, 2L))
  }
}
