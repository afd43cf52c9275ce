package io.tamis.runtime

import java.lang.Long.numberOfLeadingZeros

import org.apache.spark.sql.catalyst.expressions.XXH64

/** The registers of some values, which become those of Spark's HyperLogLog++. Its function boxes
  * each value and looks up its type.
  *
  * There are 2^p registers. The first p bits of the hash of a value choose one. It holds the
  * greatest rank of its values: the place, from 1, of the first bit that is set in the rest of the
  * hash, or 65 - p if none is. Spark 4.0 and 4.1 do the same.
  *
  * @param words
  *   the number of words of Spark's buffer
  */
private[tamis] final class HllRanks(words: Int) {
  import HllRanks._

  // Spark has 2^p / 10 + 1 words
  private val p = 63 - numberOfLeadingZeros(words.toLong * InWord)
  private val ranks = new Array[Byte](1 << p)

  def addInt(value: Int): Unit = addHash(XXH64.hashInt(value, Seed))
  def addLong(value: Long): Unit = addHash(XXH64.hashLong(value, Seed))

  private def addHash(hash: Long): Unit = {
    val register = (hash >>> (64 - p)).toInt
    val rank = numberOfLeadingZeros(hash << p | 1L << (p - 1)) + 1
    if (rank > ranks(register)) ranks(register) = rank.toByte
  }

  /** The words of Spark's buffer. */
  def toWords: Array[Long] = {
    val packed = new Array[Long](words)
    for (r <- ranks.indices) packed(r / InWord) |= ranks(r).toLong << Bits * (r % InWord)
    packed
  }
}

private object HllRanks {

  /** The bits of a register, and the registers in a word. */
  private val Bits = 6
  private val InWord = 10
  private val Seed = 42L
}
