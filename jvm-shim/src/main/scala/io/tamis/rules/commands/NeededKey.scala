package io.tamis.rules.commands

import io.tamis.conf.TamisConf
import io.tamis.planning.{Clustering, Question, ScanGoal, ScanPlanner, SwappedFiles}
import io.tamis.rules.joins.{KeyOrigins, RuntimeKeys}
import io.tamis.wire.{ExpressionWriter, JoinGoal}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.internal.SQLConf

/** A key over the columns of a plan that equals a key of the other side of a join in every row that
  * is needed.
  *
  * The keys of the other side are known without reading it if they come from a scan of tamis or a
  * short VALUES list. Otherwise Delta has checkpointed that side, and they are computed
  * ([[CheckpointedKeys]]) if single keys lie in few files and reading them costs less than they may
  * save.
  */
private[commands] final case class NeededKey(key: Expression, source: NeededKey.Source) {

  /** The files, confined to those that may hold a key of the other side. */
  def confined(files: SwappedFiles, conjuncts: Seq[Expression]): SwappedFiles =
    if (!TamisConf.joinsEnabled(SQLConf.get) || !ScanPlanner.hasChoice(files, conjuncts)) files
    else
      goal(files, conjuncts).fold(files) { goal =>
        val chosen = ScanPlanner.filesFor(files, conjuncts, goal)
        val join = ScanGoal.Join(ExpressionWriter.sqlOf(key))
        files.copy(purpose = files.purpose.confined(join, chosen))
      }

  private def goal(files: SwappedFiles, conjuncts: Seq[Expression]): Option[JoinGoal] = {
    val writer = Question.writer(files)
    KeyOrigins.of(source.key, source.plan) match {
      case Right(origins) =>
        val values = origins.isValue(key).map(writer.write)
        Some(JoinGoal(writer.write(key), origins.scans, values))
      case Left(_) =>
        CheckpointedKeys
          .of(source.key, source.plan)
          .filter(pays(_, files, conjuncts))
          .flatMap(_.among(key))
          .map(values => JoinGoal(writer.write(key), Nil, Some(writer.write(values))))
    }
  }

  private def pays(
      keys: CheckpointedKeys,
      files: SwappedFiles,
      conjuncts: Seq[Expression]
  ): Boolean = {
    val conf = SQLConf.get
    TamisConf.runtimeFiltersEnabled(conf) &&
    ScanPlanner.survivors(files, conjuncts).exists { kept =>
      kept.count > 1 && keys.bytes.exists(kept.bytes > RuntimeKeys.Gain * _) &&
      Clustering.of(files, conjuncts, Seq(key)).contains(true)
    }
  }
}

private[commands] object NeededKey {

  /** A key over the output of the other side. */
  final case class Source(key: Expression, plan: LogicalPlan)
}
