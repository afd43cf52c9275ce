package io.tamis.formats

import scala.util.Random

import io.tamis.runtime.HllOfValues

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  BoundReference,
  SpecificInternalRow,
  UnsafeProjection
}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

class GroupsOfTaskSuite extends munit.FunSuite {
  private val kinds =
    Seq[DataType](StringType, IntegerType, BooleanType, DecimalType(25, 2), DecimalType(9, 2))
  private val input = StructType(
    (StructField("id", LongType, nullable = false) +:
      kinds.zipWithIndex.map { case (kind, i) => StructField(s"by$i", kind) }) ++ Seq(
      StructField("input 0", LongType),
      StructField("input 1", BooleanType, nullable = false),
      StructField("input 2", StringType),
      StructField("input 3", DoubleType),
      StructField("input 4", BooleanType)
    )
  )
  private val wanted = Seq(
    OfGroup.Sum(0, "v0", LongType),
    OfGroup.Count("count1", "v0"),
    OfGroup.Extreme("value2", "v1", isMax = false),
    OfGroup.Extreme("value3", "v2", isMax = true),
    OfGroup.Seen("old4", "old1")
  )
  private val keys = kinds.size + 1

  /** The LONG whose `xxhash64` is 0, so that no bit gives its rank. */
  private val hashedAsZero = -365884300664092260L

  private def text(value: String) = UTF8String.fromString(value)

  private def randomRow(random: Random, id: Long): Seq[Any] = {
    def some(values: Any*): Any = values(random.nextInt(values.size))
    // strings of one hash bucket and of different lengths, which share prefixes
    Seq[Any](
      id,
      some(null, text(""), text("a"), text("aa"), text("a longer text than a word")),
      some(null, 0, -1),
      some(null, true, false),
      some(null, decimal("1.00", 25), decimal("-12345678901234567890.00", 25)),
      some(null, decimal("0.00", 9), decimal("5.25", 9)),
      some(null, 1L, -1L, 1L << 62),
      random.nextBoolean(),
      some(null, text("b"), text("B"), text("")),
      some(null, 0.5, Double.NaN, -3.0),
      some(null, true, false)
    )
  }

  private def decimal(value: String, precision: Int) =
    Decimal(BigDecimal(value), precision, 2)

  private def aggregated(rows: Seq[Seq[Any]], most: Int): Seq[Seq[Any]] = {
    val groups = new GroupsOfTask(input, keys, most, wanted)
    val projection = UnsafeProjection.create(input) // overwrites the row that it returned before
    val found = groups(rows.iterator.map(row => projection(InternalRow.fromSeq(row))))
    val copy = UnsafeProjection.create(groups.schema)
    found.map(row => copy(row).copy().toSeq(groups.schema)).toSeq
  }

  private def expected(rows: Seq[Seq[Any]]): Seq[Seq[Any]] =
    rows.groupBy(_.take(keys)).toSeq.map { case (key, of) =>
      def values(place: Int) = of.map(_(keys + place)).filter(_ != null)
      val longs = values(0).map(_.asInstanceOf[Long])
      def sum(some: Seq[Long]): Any = {
        val whole = some.map(BigInt(_)).sum
        if (whole.isValidLong) whole.toLong else null
      }
      val texts = values(2).map(_.asInstanceOf[UTF8String])
      val doubles = values(3).map(_.asInstanceOf[Double])
      key ++ Seq[Any](
        of.size.toLong,
        sum(longs.filter(_ > 0)),
        sum(longs.filter(_ < 0)),
        longs.size.toLong,
        values(1).count(_ == true).toLong,
        texts.reduceOption((a, b) => if (a.compareTo(b) <= 0) a else b).orNull,
        // NaN is the greatest value
        doubles.reduceOption((a, b) => if (a.isNaN || a > b) a else b).orNull,
        values(4).contains(true)
      )
    }

  private def shown(rows: Seq[Seq[Any]]) = rows.map(_.mkString("|")).sorted

  test("groups of consecutive files equal those of a naive aggregation") {
    val random = new Random(7)
    for (_ <- 1 to 60) {
      val files = random.shuffle((0L until 4L).toList).take(random.nextInt(4))
      val rows =
        files.flatMap(id => Seq.fill(1 + random.nextInt(40))(randomRow(random, id)))
      assertEquals(shown(aggregated(rows, 1000)), shown(expected(rows)))
    }
  }

  test("a file whose rows do not follow each other has a group several times") {
    val random = new Random(3)
    val rows =
      Seq(1L, 1L, 2L, 1L).map(id => randomRow(random, id).take(1) ++ randomRow(random, 0).tail)
    assertEquals(aggregated(rows, 9).map(_.head).distinct.size, 2)
    assertEquals(aggregated(rows, 9).map(_(keys).asInstanceOf[Long]).sum, 4L)
  }

  test("rows of groups beyond the most of a file are left out") {
    val random = new Random(2)
    val few = randomRow(random, 1L)
    val rows = (0 until 10).map(i => few.updated(1, text(s"t$i"))) ++
      Seq.fill(3)(few.updated(1, text("t0"))) :+ few.updated(0, 2L)
    val found = aggregated(rows, 4)
    assertEquals(found.count(_.head == 1L), 4)
    assertEquals(found.filter(_.head == 1L).map(_(keys).asInstanceOf[Long]).sum, 7L)
    assertEquals(found.filter(_.head == 2L).map(_(keys)), Seq[Any](1L))
    assertEquals(aggregated(rows, 10).filter(_.head == 1L).map(_(keys).asInstanceOf[Long]).sum, 13L)
  }

  test("registers are those of Spark's function") {
    val random = new Random(11)
    val values = Seq[(DataType, () => Any)](
      IntegerType -> (() => random.nextInt()),
      DateType -> (() => random.nextInt(30000)),
      LongType -> (() => if (random.nextInt(99) > 0) random.nextLong() else hashedAsZero),
      TimestampType -> (() => random.nextLong()),
      TimestampNTZType -> (() => random.nextInt(1000).toLong),
      ShortType -> (() => random.nextInt().toShort),
      DoubleType -> (() => if (random.nextBoolean()) -0.0 else random.nextGaussian()),
      StringType -> (() => text(random.nextInt(9000).toString)),
      DecimalType(9, 2) -> (() => Decimal(random.nextInt(9000).toLong, 9, 2))
    )
    for {
      (kind, draw) <- values
      deviation <- Seq(0.39, 0.05, 0.004)
      most <- Seq(1, 50, 20000)
    } {
      val wanted = Seq(OfGroup.Registers("registers0", "v0", deviation))
      val of = StructType(Seq(StructField("id", LongType), StructField("input 0", kind)))
      val rows = Seq.fill(random.nextInt(most + 1)) {
        InternalRow(1L, if (random.nextInt(9) == 0) null else draw())
      }
      val projection = UnsafeProjection.create(of)
      val found = new GroupsOfTask(of, 1, 9, wanted)(rows.iterator.map(projection(_)))
        .map(_.getBinary(2).toSeq)
        .toSeq
      val function = HllOfValues(BoundReference(1, kind, nullable = true), deviation)
      val buffer = new SpecificInternalRow(function.aggBufferSchema.map(_.dataType))
      function.initialize(buffer)
      rows.foreach(function.update(buffer, _))
      val expected = function.eval(buffer).asInstanceOf[Array[Byte]].toSeq
      assertEquals(found, if (rows.isEmpty) Nil else Seq(expected), s"$kind $deviation")
    }
  }
}
