package io.tamis.remember

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, SortOrder}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.{CodegenSupport, SparkPlan, UnaryExecNode}

/** Passes on the rows of a filter, and counts them. In generated code, this adds one to a field for
  * each row.
  */
final case class NoteHitsExec(child: SparkPlan, learner: Learner)
    extends UnaryExecNode
    with CodegenSupport {

  override def nodeName: String = "TamisNoteHits"
  override protected def stringArgs: Iterator[Any] = Iterator.empty
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering

  /** Two plans that differ only in what they note have the same result: exchanges are reused. */
  override protected def doCanonicalize(): SparkPlan = child.canonicalized

  override protected def doExecute(): RDD[InternalRow] = {
    val noting = learner
    child.execute().mapPartitions { rows =>
      val hits = noting.observed()
      rows.map { row => hits.note(); row }
    }
  }

  private def below: CodegenSupport = child.asInstanceOf[CodegenSupport]
  override def inputRDDs(): Seq[RDD[InternalRow]] = below.inputRDDs()
  override protected def doProduce(ctx: CodegenContext): String = below.produce(ctx, this)

  override def doConsume(ctx: CodegenContext, input: Seq[ExprCode], row: ExprCode): String = {
    val source = ctx.addReferenceObj("learner", learner)
    // a field that is set before the first row
    val hits = ctx.addMutableState(
      classOf[TaskHits].getName,
      "hits",
      field => s"$field = $source.observed();",
      forceInline = true
    )
    s"$hits.note();\n${consume(ctx, input)}"
  }

  override protected def withNewChildInternal(newChild: SparkPlan): NoteHitsExec =
    copy(child = newChild)
}
