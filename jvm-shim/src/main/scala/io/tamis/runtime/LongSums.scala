package io.tamis.runtime

/** The sums of the positive and of the negative values of LONG. A sum that leaves the range of LONG
  * is not known. All its summands have the same sign, so this does not depend on their order.
  *
  * @param hasUnknown
  *   whether [[UnscaledLong.Unknown]] is not a value: with it, no sum is known
  */
final class LongSums(hasUnknown: Boolean) {
  // below 0, or above: beyond the range of LONG, where it stays
  private var ofPositive, ofNegative = 0L

  def add(value: Long): Unit =
    if (hasUnknown && value == UnscaledLong.Unknown) {
      ofPositive = -1
      ofNegative = 1
    } else if (value > 0) {
      // two numbers >= 0: beyond the range, their sum is negative
      if (ofPositive >= 0) ofPositive += value
    } else if (value < 0) {
      // a number <= 0 and one < 0: beyond the range, their sum is >= 0
      if (ofNegative <= 0) {
        ofNegative += value
        if (ofNegative >= 0) ofNegative = 1
      }
    }

  def positive: Option[java.lang.Long] = Option.when(ofPositive >= 0)(Long.box(ofPositive))
  def negative: Option[java.lang.Long] = Option.when(ofNegative <= 0)(Long.box(ofNegative))
}
