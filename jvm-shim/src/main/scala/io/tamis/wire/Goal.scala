package io.tamis.wire

import java.util.BitSet

import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}
import org.apache.spark.sql.catalyst.expressions.Expression

/** Additional question to the planner about the files that a filter keeps (tamis.wire.goals). */
sealed abstract class Goal(kind: String) extends Product {
  final def document: ObjectNode = Json.obj(("kind" -> kind) +: Json.fields(this): _*)

  /** The other scans that the answer depends on. */
  def scans: Seq[ScanRequest] = Nil
}

/** Which files can hold one of the first rows in this order?
  *
  * @param key
  *   the first key of the order, as a document of its own
  * @param only
  *   no other key follows
  * @param further
  *   the keys that follow, up to the first that bounds cannot compare
  * @param complete
  *   no other key follows those of `further`
  * @param sample
  *   None: the query cannot read a sample
  */
final case class TopKGoal(
    rows: Long,
    key: ObjectNode,
    descending: Boolean,
    nullsFirst: Boolean,
    only: Boolean,
    further: Seq[TopKGoal.Key] = Nil,
    complete: Boolean = false,
    sample: Option[SampleGoal] = None
) extends Goal("topk")

object TopKGoal {
  final case class Key(key: ObjectNode, descending: Boolean, nullsFirst: Boolean)
}

/** The query can read a sample of the files first, and then choose files by what it has found.
  *
  * @param columns
  *   types of the columns that the query reads
  * @param sampled
  *   types of the columns that it reads of a sample
  * @param least
  *   milliseconds that a sample has to save
  * @param only
  *   statistics of the scan alone do not show how many rows count, because a join drops some
  */
final case class SampleGoal(
    columns: Seq[String],
    sampled: Seq[String],
    least: Long,
    only: Boolean = false
)

/** The answer to a [[TopKGoal]].
  *
  * @param files
  *   the files that can hold one of the first rows
  * @param until
  *   a predicate that holds for every needed row in them
  * @param samples
  *   files to read first, one sample after the other
  */
final case class FirstFiles(files: BitSet, until: Option[Expression], samples: Seq[BitSet])

/** Which files pass a filter as a whole, if scanning them without it pays off?
  *
  * @param freed
  *   types of the columns that only the filter needs
  * @param columns
  *   number of output columns
  * @param least
  *   milliseconds that it has to save
  */
final case class SplitGoal(freed: Seq[String], columns: Int, least: Long) extends Goal("split")

/** Which files are enough for a LIMIT?
  *
  * @param outputs
  *   expressions that are computed for every row below the LIMIT
  */
final case class LimitGoal(rows: Long, outputs: ArrayNode) extends Goal("limit")

/** Which files hold rows that can have a match on the other side of a join?
  *
  * @param key
  *   the join key over the columns of this scan
  * @param sources
  *   the scans that the keys of the other side come from
  * @param others
  *   a predicate over this scan that is true if the key equals one of the other side's keys that do
  *   not come from a scan
  */
final case class JoinGoal(key: ObjectNode, sources: Seq[KeySource], others: Option[ObjectNode])
    extends Goal("join") {
  override def scans: Seq[ScanRequest] = sources.map(_.scan)
}

/** A scan, and a join key over its columns. */
final case class KeySource(scan: ScanRequest, key: ObjectNode)

/** For which of these keys do single values lie in few files? */
final case class ClusteredGoal(keys: ArrayNode) extends Goal("clustered")

/** Are the rows of each group of files sorted by these keys?
  *
  * @param descending
  *   by key: whether the greatest value comes first
  * @param tasks
  *   for each group of the listing, the number of the task that reads its files
  */
final case class OrderGoal(keys: ArrayNode, descending: Seq[Boolean], tasks: Seq[Int])
    extends Goal("order")

/** What is known of all files of the listing, whatever the filters?
  *
  * @param columns
  *   the columns, as documents
  */
final case class FactsGoal(columns: ArrayNode) extends Goal("facts")

/** Which files do statistics answer for, and with what?
  *
  * @param keys
  *   for each group of the listing, the number of its group of rows; None: all have the same one
  * @param by
  *   the documents of the columns by which rows are grouped as well
  * @param sample
  *   None: the query cannot read a sample
  */
final case class AggregateGoal(
    aggregates: Seq[AggregateGoal.Function],
    keys: Option[Seq[Int]],
    by: Seq[ObjectNode],
    sample: Option[SampleGoal] = None
) extends Goal("aggregate")

object AggregateGoal {

  /** One aggregate function.
    *
    * @param argument
    *   the document of its argument; None: it counts rows
    * @param filter
    *   the document of the condition of FILTER (WHERE …)
    * @param limit
    *   of a sum: a whole number. Spark adds unscaled values exactly while each partial sum is
    *   between -limit and limit, exclusive.
    * @param sketch
    *   of registers: how they are computed
    */
  final case class Function(
      function: Kind,
      argument: Option[ObjectNode],
      filter: Option[ObjectNode] = None,
      limit: Option[String] = None,
      sketch: Option[Sketch] = None
  )

  /** How Spark computes the registers of approx_count_distinct.
    *
    * @param deviation
    *   the relative standard deviation that the query allows
    * @param spark
    *   the version of Spark, whose hashes may change
    */
  final case class Sketch(deviation: Double, spark: String)

  /** A function that statistics can answer.
    *
    * @param name
    *   as messages spell it
    */
  sealed abstract class Kind(val name: String) extends Named
  case object Count extends Kind("count")
  case object Min extends Kind("min")
  case object Max extends Kind("max")
  case object Sum extends Kind("sum")

  /** The registers of approx_count_distinct, see HllRegisters. */
  final case class Distinct(deviation: Double) extends Kind("approx_count_distinct")
}
