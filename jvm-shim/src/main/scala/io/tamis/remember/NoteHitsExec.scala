package io.tamis.remember

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, SortOrder}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.{CodegenSupport, SparkPlan, UnaryExecNode}

/** Passes on the rows of a filter, counts them, and notes some of their values. In generated code,
  * this adds one to a field for each row, and compares the values of a few rows of each row group.
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

  /** These are read for every row, once, and the others where they are needed. Code that reads them
    * a second time, for the few rows whose values are noted, would cost more.
    */
  override def usedInputs: AttributeSet = AttributeSet(columns)

  private def places: Seq[Int] = columns.map(c => child.output.indexWhere(_.exprId == c.exprId))

  /** Two plans that differ only in what they note have the same result: exchanges are reused. */
  override protected def doCanonicalize(): SparkPlan = child.canonicalized

  override protected def doExecute(): RDD[InternalRow] = {
    val noting = learner
    val noted = places.zip(columns.map(_.dataType)).zipWithIndex.toArray
    child.execute().mapPartitions { rows =>
      val hits = noting.observed()
      rows.map { row =>
        if (hits.note()) noted.foreach { case ((ordinal, t), column) =>
          if (!row.isNullAt(ordinal)) hits.saw(column, PassingValues.read(row, ordinal, t))
        }
        row
      }
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
    val values = places.zip(columns).zipWithIndex.map { case ((place, attribute), column) =>
      PassingValues.code(hits, column, attribute, input(place))
    }
    val noted =
      if (values.isEmpty) s"$hits.note();" else s"if ($hits.note()) {\n${values.mkString("\n")}\n}"
    s"$noted\n${consume(ctx, input)}"
  }

  override protected def withNewChildInternal(newChild: SparkPlan): NoteHitsExec =
    copy(child = newChild)
}
