package io.tamis.formats.delta

import scala.jdk.CollectionConverters._
import scala.util.Random

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.execution.vectorized.{OnHeapColumnVector, WritableColumnVector}
import org.apache.spark.sql.types.{ByteType, StructType}
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}

class RowsLeftSuite extends munit.FunSuite {
  private val schema = StructType.fromDDL(
    "b BOOLEAN, y TINYINT, h SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, day DATE, at TIMESTAMP, " +
      "small DECIMAL(9, 2), long DECIMAL(18, 2), big DECIMAL(38, 2), t STRING, bytes BINARY, " +
      "s STRUCT<x: INT, in: STRUCT<t: STRING>>, a ARRAY<INT>, of ARRAY<STRUCT<x: INT>>, " +
      "m MAP<STRING, BIGINT>"
  )

  /** A row whose values are NULL with this probability. */
  private def row(random: Random, n: Int, nulls: Double): Row = {
    def some(value: Any): Any = if (random.nextDouble() < nulls) null else value
    val decimal = java.math.BigDecimal.valueOf(n.toLong, 2)
    Row(
      some(n % 2 == 0),
      some(n.toByte),
      some(n.toShort),
      some(n),
      some(n * 10000000000L),
      some(n / 2f),
      some(n / 3d),
      some(java.time.LocalDate.ofEpochDay(n.toLong)),
      some(java.time.Instant.ofEpochSecond(n.toLong)),
      some(decimal),
      some(decimal),
      some(decimal),
      some(s"text $n"),
      some(s"bytes $n".getBytes),
      some(Row(some(n), some(Row(some(s"inner $n"))))),
      some(Seq(n, some(n + 1))),
      some(Seq(Row(some(n)), Row(n + 1))),
      some(Map("k" -> n.toLong))
    )
  }

  private def batch(rows: Seq[Row], marks: Seq[Byte]): ColumnarBatch = {
    val all = schema.add("mark", ByteType)
    val vectors = OnHeapColumnVector.allocateColumns(rows.size.max(1), all)
    val columns = vectors.map(v => v: WritableColumnVector)
    // private to a package of Spark
    val converter = Class.forName("org.apache.spark.sql.execution.RowToColumnConverter")
    val toColumns = converter.getConstructor(classOf[StructType]).newInstance(all)
    val convert = converter.getMethod(
      "convert",
      classOf[InternalRow],
      classOf[Array[WritableColumnVector]]
    )
    rows.zip(marks).foreach { case (r, mark) =>
      val withMark = Row.fromSeq(r.toSeq :+ mark)
      val internal = CatalystTypeConverters.createToCatalystConverter(all)(withMark)
      convert.invoke(toColumns, internal.asInstanceOf[AnyRef], columns)
    }
    new ColumnarBatch(vectors.map(v => v: ColumnVector), rows.size)
  }

  private def rowsOf(batch: ColumnarBatch, columns: StructType): Seq[Any] = {
    val toScala = CatalystTypeConverters.createToScalaConverter(columns)
    batch.rowIterator.asScala.map(r => comparable(toScala(r.copy()))).toSeq
  }

  /** The same rows as Spark returns them, which has other classes for times. */
  private def asReturned(rows: Seq[Row], columns: StructType): Seq[Any] = {
    val toCatalyst = CatalystTypeConverters.createToCatalystConverter(columns)
    val toScala = CatalystTypeConverters.createToScalaConverter(columns)
    rows.map(r => comparable(toScala(toCatalyst(r))))
  }

  private def comparable(value: Any): Any = value match {
    case bytes: Array[Byte]           => bytes.toSeq
    case number: java.math.BigDecimal => number.doubleValue
    case row: Row                     => row.toSeq.map(comparable)
    case all: scala.collection.Seq[_] => all.map(comparable).toSeq
    case other                        => other
  }

  for (seed <- 1 to 20)
    test(s"rows that are not marked are left, with all of their values ($seed)") {
      val random = new Random(seed)
      val nulls = Seq(0, 0.3, 1)(seed % 3)
      val rows = Seq.tabulate(random.nextInt(30))(row(random, _, nulls))
      val deleted = Seq(0, 0.5, 0.9, 1)(seed % 4)
      val marks = rows.map(_ => if (random.nextDouble() < deleted) 1.toByte else 0.toByte)
      val kept = rows.zip(marks).collect { case (r, 0) => r }
      val mark = schema.size
      val columns = random.shuffle(schema.indices.toList).take(1 + random.nextInt(schema.size))
      val left = RowsLeft.of(batch(rows, marks), mark, columns)
      assertEquals(left.numRows, kept.size)
      val read = StructType(columns.map(schema(_)))
      assertEquals(
        rowsOf(left, read),
        asReturned(kept.map(r => Row.fromSeq(columns.map(r.get))), read)
      )
      columns.indices.foreach { c =>
        val column = left.column(c)
        assertEquals(column.numNulls, kept.count(_.isNullAt(columns(c))))
        assert(column.hasNull || column.numNulls == 0)
      }
    }

  test("no column is read") {
    val left = RowsLeft.of(batch(Seq.tabulate(3)(row(new Random(1), _, 0)), Seq(0, 1, 0)), 18, Nil)
    assertEquals((left.numRows, left.numCols), (2, 0))
  }
}
