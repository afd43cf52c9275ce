package io.tamis.formats

import io.tamis.runtime.{HllRanks, HllRegisters, LongSums}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.HyperLogLogPlusPlus
import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.array.ByteArrayMethods
import org.apache.spark.unsafe.hash.Murmur3_x86_32

/** Aggregates the rows of a task by file, and by the values of some columns.
  *
  * The rows of a file follow each other in a task. So only the groups of one file are in memory,
  * and only as many of them as can be recorded. No exchange is needed for a file that is not split.
  * If the rows of a file do not follow each other, or another task reads a part of it, its groups
  * occur several times.
  *
  * @param input
  *   the columns of the rows: the keys, and one for each part of `wanted`
  * @param keys
  *   the number of keys. The first is the number of the file. Equal values have equal bytes.
  * @param most
  *   the most groups of a file. The rows of all others are left out.
  */
private[formats] final class GroupsOfTask(
    input: StructType,
    keys: Int,
    most: Int,
    wanted: Seq[OfGroup]
) extends Serializable {
  private val types = input.map(_.dataType).toArray
  private val isFixed = types.map(UnsafeRow.isFixedLength(_))

  /** The columns of the groups. */
  val schema: StructType = StructType(
    input.take(keys).map(_.copy(nullable = true)) ++ (StructField("n", LongType) +:
      wanted.zip(input.drop(keys)).flatMap {
        case (OfGroup.Seen(name, _), _)         => Seq(StructField(name, BooleanType))
        case (OfGroup.Count(name, _), _)        => Seq(StructField(name, LongType))
        case (s: OfGroup.Sum, _)                => (s.sums :+ s.count).map(StructField(_, LongType))
        case (OfGroup.Extreme(name, _, _), of)  => Seq(StructField(name, of.dataType))
        case (OfGroup.Registers(name, _, _), _) => Seq(StructField(name, BinaryType))
      })
  )

  def apply(rows: Iterator[InternalRow]): Iterator[InternalRow] = new Iterator[InternalRow] {
    private lazy val toUnsafe = UnsafeProjection.create(types)
    private val groups = new Groups
    private var ready: Iterator[InternalRow] = Iterator.empty

    /** The first row of the next file. It is overwritten when `rows` goes on. */
    private var first: UnsafeRow = _

    override def hasNext: Boolean = {
      while (!ready.hasNext && (first != null || rows.hasNext)) ready = ofFile()
      ready.hasNext
    }

    override def next(): InternalRow =
      if (hasNext) ready.next() else throw new NoSuchElementException

    private def ofFile(): Iterator[InternalRow] = {
      var row = if (first != null) first else read()
      val file = row.getLong(0)
      first = null
      groups.clear()
      while (row != null) {
        groups.add(row)
        row = if (rows.hasNext) read() else null
        if (row != null && row.getLong(0) != file) {
          first = row
          row = null
        }
      }
      groups.rows
    }

    private def read(): UnsafeRow = rows.next() match {
      case row: UnsafeRow => row
      case other          => toUnsafe(other)
    }
  }

  /** The groups of one file, in a hash table with open addressing. */
  private final class Groups {
    private val totals = wanted.indices.map(k => totalsOf(wanted(k), keys + k))
    private val size = Integer.highestOneBit(most) * 4
    private var table = new Array[Group](size)
    private var count = 0

    def clear(): Unit = if (count > 0) {
      table = new Array[Group](size)
      count = 0
    }

    def add(row: UnsafeRow): Unit = {
      val hash = hashOf(row)
      var place = hash & (size - 1)
      while (table(place) != null && !table(place).has(row, hash)) place = (place + 1) & (size - 1)
      if (table(place) == null && count < most) {
        table(place) = new Group(row.copy(), hash, totals.map(_()).toArray)
        count += 1
      }
      if (table(place) != null) table(place).add(row)
    }

    def rows: Iterator[InternalRow] = table.iterator.filter(_ != null).map(_.row)
  }

  private final class Group(first: UnsafeRow, hash: Int, totals: Array[Total]) {
    private var n = 0L

    def has(row: UnsafeRow, itsHash: Int): Boolean = {
      var isSame = hash == itsHash
      var i = 1
      while (isSame && i < keys) {
        isSame = areSame(first, row, i)
        i += 1
      }
      isSame
    }

    def add(row: UnsafeRow): Unit = {
      n += 1
      var k = 0
      while (k < totals.length) {
        totals(k).add(row)
        k += 1
      }
    }

    def row: InternalRow = {
      val of = (0 until keys).map(i => first.get(i, types(i)))
      new GenericInternalRow((of ++ (n +: totals.flatMap(_.values))).toArray[Any])
    }
  }

  // ---- keys ----

  private def hashOf(row: UnsafeRow): Int = {
    var hash = 1
    var i = 1
    while (i < keys) {
      if (!row.isNullAt(i)) {
        // a field has 8 bytes: its value, or the offset and the size of that
        val word = row.getLong(i)
        hash =
          if (isFixed(i)) Murmur3_x86_32.hashLong(word, hash)
          else
            Murmur3_x86_32.hashUnsafeBytes(
              row.getBaseObject,
              row.getBaseOffset + (word >> 32),
              word.toInt,
              hash
            )
      }
      i += 1
    }
    hash
  }

  private def areSame(one: UnsafeRow, other: UnsafeRow, i: Int): Boolean = {
    val isNull = one.isNullAt(i)
    if (isNull || other.isNullAt(i)) isNull == other.isNullAt(i)
    else {
      val (a, b) = (one.getLong(i), other.getLong(i))
      if (isFixed(i)) a == b
      else
        a.toInt == b.toInt && ByteArrayMethods.arrayEquals(
          one.getBaseObject,
          one.getBaseOffset + (a >> 32),
          other.getBaseObject,
          other.getBaseOffset + (b >> 32),
          a.toInt
        )
    }
  }

  // ---- what is computed of a group ----

  /** Makes the totals of groups. */
  private def totalsOf(wanted: OfGroup, place: Int): () => Total = wanted match {
    case _: OfGroup.Seen              => () => new Seen(place)
    case _: OfGroup.Count             => () => new Count(place)
    case OfGroup.Sum(_, _, kind)      => () => new Sum(place, kind != LongType)
    case OfGroup.Extreme(_, _, isMax) =>
      val order = TypeUtils.getInterpretedOrdering(types(place))
      () => new Extreme(place, types(place), order, isMax)
    case OfGroup.Registers(_, _, deviation) =>
      val value = BoundReference(place, types(place), nullable = true)
      val function = HyperLogLogPlusPlus(value, deviation, 0, 0)
      val words = function.aggBufferAttributes.size
      types(place) match {
        case LongType | TimestampType | TimestampNTZType =>
          () => new RegistersOfNumbers(place, isLong = true, words)
        case IntegerType | DateType => () => new RegistersOfNumbers(place, isLong = false, words)
        case _                      => () => new Registers(function, Seq.fill(words)(LongType))
      }
  }
}

/** A value that is computed from one column of the rows of a group. */
private[formats] abstract class Total {
  def add(row: UnsafeRow): Unit
  def values: Seq[Any]
}

private[formats] final class Seen(place: Int) extends Total {
  private var isSeen = false
  override def add(row: UnsafeRow): Unit =
    if (!row.isNullAt(place) && row.getBoolean(place)) isSeen = true
  override def values: Seq[Any] = Seq(isSeen)
}

private[formats] final class Count(place: Int) extends Total {
  private var n = 0L
  override def add(row: UnsafeRow): Unit = if (row.getBoolean(place)) n += 1
  override def values: Seq[Any] = Seq(n)
}

private[formats] final class Sum(place: Int, hasUnknown: Boolean) extends Total {
  private val sums = new LongSums(hasUnknown)
  private var n = 0L

  override def add(row: UnsafeRow): Unit = if (!row.isNullAt(place)) {
    sums.add(row.getLong(place))
    n += 1
  }

  override def values: Seq[Any] = Seq(sums.positive.orNull, sums.negative.orNull, n)
}

/** As MIN and MAX of Spark compare values. */
private[formats] final class Extreme(
    place: Int,
    kind: DataType,
    order: Ordering[Any],
    isMax: Boolean
) extends Total {
  private var found: Any = _

  override def add(row: UnsafeRow): Unit = if (!row.isNullAt(place)) {
    val value = row.get(place, kind)
    if (found == null || (if (isMax) order.gt(value, found) else order.lt(value, found)))
      found = InternalRow.copyValue(value)
  }

  override def values: Seq[Any] = Seq(found)
}

/** The registers of numbers of 64 or 32 bits. */
private[formats] final class RegistersOfNumbers(place: Int, isLong: Boolean, words: Int)
    extends Total {
  private val ranks = new HllRanks(words)

  override def add(row: UnsafeRow): Unit = if (!row.isNullAt(place)) {
    if (isLong) ranks.addLong(row.getLong(place)) else ranks.addInt(row.getInt(place))
  }

  override def values: Seq[Any] = Seq(HllRegisters.bytes(ranks.toWords))
}

/** Spark's own function computes the registers. */
private[formats] final class Registers(function: HyperLogLogPlusPlus, words: Seq[DataType])
    extends Total {
  private val buffer = new SpecificInternalRow(words)
  function.initialize(buffer)

  override def add(row: UnsafeRow): Unit = function.update(buffer, row)
  override def values: Seq[Any] = Seq(HllRegisters.bytes(buffer, 0, words.size))
}
