package io.tamis.remember

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, SortOrder}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.{CodegenSupport, SparkPlan, UnaryExecNode}

/** Passes on the rows of a filter, counts them, and notes some of their values.
  *
  * @param columns
  *   those of the learner
  */
final case class NoteHitsExec(child: SparkPlan, learner: Learner, columns: Seq[Attribute])
    extends UnaryExecNode
    with CodegenSupport {

  override def nodeName: String = "TamisNoteHits"
  override protected def stringArgs: Iterator[Any] = Iterator.empty
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering

  /** These are read for every row, once, and the others where they are needed. */
  override def usedInputs: AttributeSet = AttributeSet(columns)

  private def places: Seq[Int] = columns.map(c => child.output.indexWhere(_.exprId == c.exprId))

  /** Two plans that differ only in what they note have the same result: exchanges are reused. */
  override protected def doCanonicalize(): SparkPlan = child.canonicalized

  override protected def doExecute(): RDD[InternalRow] = {
    val noting = learner.whenCoded()
    val noted = places.zip(columns.map(_.dataType)).toArray
    child.execute().mapPartitions { rows =>
      val hits = noting.observed()
      rows.map { row =>
        hits.note(
          column => row.isNullAt(noted(column)._1),
          column => PassingValues.read(row, noted(column)._1, noted(column)._2)
        )
        row
      }
    }
  }

  private def below: CodegenSupport = child.asInstanceOf[CodegenSupport]
  override def inputRDDs(): Seq[RDD[InternalRow]] = below.inputRDDs()
  override protected def doProduce(ctx: CodegenContext): String = below.produce(ctx, this)

  override def doConsume(ctx: CodegenContext, input: Seq[ExprCode], row: ExprCode): String = {
    val source = ctx.addReferenceObj("learner", learner.whenCoded())
    // fields that are set before the first row, in this order
    def field(t: String, name: String, value: String) =
      ctx.addMutableState(t, name, it => s"$it = $value;", forceInline = true)
    val hits = field(classOf[TaskHits].getName, "hits", s"$source.observed()")
    val passed = field("long[]", "passed", s"$hits.passed()")
    val place = ctx.freshName("place")
    val noted = places.zip(columns).zipWithIndex.flatMap { case ((ordinal, attribute), column) =>
      val found = input(ordinal)
      val values = field("long[]", "values", s"$hits.values()[$column]")
      val number = s"$values[$place] = ${PassingValues.code(attribute, found)};"
      if (found.isNull == FalseLiteral) Seq(number)
      else {
        val nulls = field("boolean[]", "nulls", s"$hits.nulls()[$column]")
        Seq(number, s"$nulls[$place] = ${found.isNull};")
      }
    }
    val counted =
      if (noted.isEmpty) s"$passed[0]++;"
      else s"int $place = (int) ($passed[0]++ & ${TaskHits.LastPlace});"
    s"$counted\n${noted.mkString("\n")}\n${consume(ctx, input)}"
  }

  override protected def withNewChildInternal(newChild: SparkPlan): NoteHitsExec =
    copy(child = newChild)
}
