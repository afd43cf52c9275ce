package io.tamis.runtime

import java.nio.{ByteBuffer, ByteOrder}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{
  HyperLogLogPlusPlus,
  ImperativeAggregate
}
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.trees.UnaryLike
import org.apache.spark.sql.types.{BinaryType, DataType, LongType, StructType}

/** What approx_count_distinct knows of the values of some rows: the registers of its HyperLogLog++
  * sketch, as BINARY. Those of several sets of rows are merged by the maximum of each register, in
  * any order and with any rows in both. So the estimate from merged registers is that of Spark for
  * all of the rows.
  *
  * Spark's own function does everything but the form of its result. Its constructor and its buffer
  * are the same in Spark 4.0 to 4.3.
  */
sealed abstract class HllFunction extends ImperativeAggregate with UnaryLike[Expression] {
  def deviation: Double

  protected final lazy val ofSpark =
    HyperLogLogPlusPlus(child, deviation, mutableAggBufferOffset, inputAggBufferOffset)

  override final def dataType: DataType = BinaryType
  override final def nullable: Boolean = false
  override final def aggBufferSchema: StructType = ofSpark.aggBufferSchema
  override final def aggBufferAttributes: Seq[AttributeReference] = ofSpark.aggBufferAttributes
  override final def inputAggBufferAttributes: Seq[AttributeReference] =
    ofSpark.inputAggBufferAttributes
  override final def initialize(buffer: InternalRow): Unit = ofSpark.initialize(buffer)
  override final def merge(buffer: InternalRow, other: InternalRow): Unit =
    ofSpark.merge(buffer, other)
  override final def eval(buffer: InternalRow): Any =
    HllRegisters.bytes(buffer, mutableAggBufferOffset, aggBufferAttributes.size)
}

/** The registers of the values of rows. */
final case class HllOfValues(
    child: Expression,
    deviation: Double,
    mutableAggBufferOffset: Int = 0,
    inputAggBufferOffset: Int = 0
) extends HllFunction {
  override def prettyName: String = "hll_of_values"
  override def update(buffer: InternalRow, row: InternalRow): Unit = ofSpark.update(buffer, row)
  override def withNewMutableAggBufferOffset(offset: Int): ImperativeAggregate =
    copy(mutableAggBufferOffset = offset)
  override def withNewInputAggBufferOffset(offset: Int): ImperativeAggregate =
    copy(inputAggBufferOffset = offset)
  override protected def withNewChildInternal(newChild: Expression): HllOfValues =
    copy(child = newChild)
}

/** The registers of the values of several sets of rows, from those of each. */
final case class HllMerged(
    child: Expression,
    deviation: Double,
    mutableAggBufferOffset: Int = 0,
    inputAggBufferOffset: Int = 0
) extends HllFunction {
  // registers are the whole input row, so that they begin at 0
  private lazy val merger = HyperLogLogPlusPlus(child, deviation, mutableAggBufferOffset, 0)

  override def prettyName: String = "hll_merged"
  override def update(buffer: InternalRow, row: InternalRow): Unit = {
    val bytes = child.eval(row).asInstanceOf[Array[Byte]]
    // no bytes: no value
    if (bytes != null && bytes.nonEmpty) merger.merge(buffer, HllRegisters.row(bytes))
  }
  override def withNewMutableAggBufferOffset(offset: Int): ImperativeAggregate =
    copy(mutableAggBufferOffset = offset)
  override def withNewInputAggBufferOffset(offset: Int): ImperativeAggregate =
    copy(inputAggBufferOffset = offset)
  override protected def withNewChildInternal(newChild: Expression): HllMerged =
    copy(child = newChild)
}

/** The number of distinct values that Spark estimates from registers. */
final case class HllEstimate(child: Expression, deviation: Double)
    extends UnaryExpression
    with CodegenFallback {
  private lazy val ofSpark = HyperLogLogPlusPlus(Literal(0), deviation, 0, 0)

  override def dataType: DataType = LongType
  override def nullable: Boolean = child.nullable
  override def prettyName: String = "hll_estimate"

  override protected def nullSafeEval(registers: Any): Any = {
    val bytes = registers.asInstanceOf[Array[Byte]]
    ofSpark.eval(
      if (bytes.nonEmpty) HllRegisters.row(bytes)
      else HllRegisters.row(new Array[Byte](HllRegisters.size(deviation)))
    )
  }

  override protected def withNewChildInternal(newChild: Expression): HllEstimate =
    copy(child = newChild)
}

/** Registers as bytes: Spark's words of 64 bits, little-endian. No bytes if all registers are 0. */
object HllRegisters {

  /** The number of bytes for a relative standard deviation. */
  def size(deviation: Double): Int =
    HyperLogLogPlusPlus(Literal(0), deviation, 0, 0).aggBufferAttributes.size * java.lang.Long.BYTES

  private[tamis] def bytes(buffer: InternalRow, offset: Int, words: Int): Array[Byte] =
    bytes(Array.tabulate(words)(i => buffer.getLong(offset + i)))

  private[tamis] def bytes(words: Array[Long]): Array[Byte] =
    if (words.forall(_ == 0)) Array.empty[Byte]
    else {
      val out = little(new Array[Byte](words.length * java.lang.Long.BYTES))
      words.foreach(out.putLong)
      out.array
    }

  private[runtime] def row(bytes: Array[Byte]): InternalRow = {
    val in = little(bytes)
    InternalRow.fromSeq(Seq.fill(bytes.length / java.lang.Long.BYTES)(in.getLong()))
  }

  private def little(bytes: Array[Byte]): ByteBuffer =
    ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)
}
