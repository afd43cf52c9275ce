package io.tamis.listing

/** Groups of the directories of a listing by the values of some partition columns.
  *
  * @param ofDirectories
  *   for each of these directories, the number of its group: several may have the same values
  * @param values
  *   by that number, the values of the columns
  */
final case class GroupNumbers(ofDirectories: Seq[Int], values: IndexedSeq[Seq[Any]])

object GroupNumbers {

  /** Groups these directories, numbered in the order of their first occurrence.
    *
    * @param columns
    *   ordinals in the partition schema, of columns whose values are equal to Spark exactly if they
    *   are equal in Scala
    * @param directories
    *   their positions among the groups of the listing
    */
  def of(listing: Listing, columns: Seq[Int], directories: Seq[Int]): GroupNumbers = {
    val types = columns.map(i => i -> listing.partitionSchema(i).dataType)
    val values = directories.map { d =>
      val row = listing.groups(d).values
      types.map { case (i, t) => row.get(i, t) }
    }
    val distinct = values.distinct.toIndexedSeq
    val numbers = distinct.zipWithIndex.toMap
    GroupNumbers(values.map(numbers), distinct)
  }
}
