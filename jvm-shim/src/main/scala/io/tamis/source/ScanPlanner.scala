package io.tamis.source

import java.util.UUID

import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.node.{ArrayNode, JsonNodeFactory}
import io.tamis.bridge.{PlannerClient, PlannerUnavailable, SidecarSupervisor, Warnings}
import io.tamis.conf.TamisConf
import io.tamis.wire.{ExpressionWriter, IndexSettings, PlanAnswer, PlanRequest}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.datasources.{CatalogFileIndex, PartitioningAwareFileIndex}
import org.apache.spark.sql.internal.SQLConf

/** Decides a scan: Spark's listing and partition pruning first, then the planner's answer on top.
  *
  * Whatever goes wrong with the planner, the decision is the one plain Spark would have made: the
  * partitions that match, every file in them, every other conjunct applied to the rows.
  */
object ScanPlanner {

  /** A scan without a filter: every file, and nobody asked. */
  def everything(table: TamisTable): Decision =
    Decision(Kept.all(listing(table, Nil)), Nil, None, None, 0.0, None)

  def decide(table: TamisTable, filters: Seq[Expression]): Decision = {
    val started = System.nanoTime()
    val partitionSchema = table.relation.partitionSchema
    val candidates = filters.filter(PartitionPredicate.isPartitionOnly(_, partitionSchema))
    val listed = listing(table, candidates)
    val onPartitions =
      PartitionPredicate.evaluable(candidates, partitionSchema, listed.groups.map(_.values))
    val passes = PartitionPredicate.of(onPartitions, partitionSchema)
    val matching =
      if (onPartitions.isEmpty) Kept.all(listed)
      else Kept.all(listed).whereGroup(listed.groups.map(g => passes(g.values)))

    def exactOnPartitions(e: Expression): Boolean = onPartitions.exists(_ eq e)
    def elapsed: Double = (System.nanoTime() - started) / 1e6

    def asSparkWould(why: String): Decision = {
      val conjuncts = filters.map(f =>
        Conjunct(f, if (exactOnPartitions(f)) "exact" else "unsupported", None, None)
      )
      Decision(matching, conjuncts, None, None, elapsed, Some(why))
    }

    ask(table, listed, filters) match {
      case Left(why)                                            => asSparkWould(why)
      case Right(_) if TamisConf.mode(SQLConf.get) == "observe" =>
        asSparkWould("spark.tamis.mode is observe")
      case Right(answer) =>
        val kept = Kept.of(listed, answer.kept)
        val conjuncts = filters.zip(answer.outcomes).map { case (f, outcome) =>
          Conjunct(
            f,
            if (exactOnPartitions(f)) "exact" else outcome.pushdown,
            if (exactOnPartitions(f)) None else outcome.reason,
            outcome.prunedFiles
          )
        }
        // exact was proven for every file that the answer keeps; a part of them keeps the proof, and loses the row count
        val both = if (matching.isAll) kept else kept.and(matching)
        Decision(
          both,
          conjuncts,
          answer.keptRecords.filter(_ => both.count == kept.count),
          answer.totalRecords,
          elapsed,
          None
        )
    }
  }

  /** Spark's listing; a catalog table asks the metastore for the matching partitions only, as Spark
    * does.
    */
  private def listing(table: TamisTable, onPartitions: Seq[Expression]): Listing = {
    val schema = table.relation.partitionSchema
    table.relation.location match {
      case index: PartitioningAwareFileIndex => ListingCache.of(index, schema)
      case catalog: CatalogFileIndex         =>
        ListingCache.of(catalog.filterPartitions(onPartitions), schema)
      case other =>
        throw new IllegalStateException(s"a relation with ${other.getClass} is not eligible")
    }
  }

  private def ask(
      table: TamisTable,
      listed: Listing,
      filters: Seq[Expression]
  ): Either[String, PlanAnswer] = {
    val conf = SQLConf.get
    val writer = new ExpressionWriter(ExpressionWriter.ambiguousPaths(table.schema))
    val documents: ArrayNode = JsonNodeFactory.instance.arrayNode()
    filters.foreach(f => documents.add(writer.write(f)))
    val index = IndexSettings(
      TamisConf.indexEnabled(conf),
      TamisConf.indexLocation(conf),
      TamisConf.cacheDirectory(conf),
      AnswerMemo.epoch
    )
    val key = AnswerMemo.Key(
      listed.fingerprint,
      table.relation.location.rootPaths.map(_.toString),
      documents.toString,
      index,
      conf.caseSensitiveAnalysis
    )
    AnswerMemo.get(key) match {
      case Some(answer) => Right(answer)
      case None         =>
        try {
          val directory = SidecarSupervisor.privateDirectory
          Snapshots.ensure(listed, directory)
          val request = PlanRequest(
            UUID.randomUUID().toString,
            listed.fingerprint,
            directory.toString,
            listed.size,
            table.name(),
            table.relation.location.rootPaths.map(_.toUri.toString.stripSuffix("/")),
            table.relation.partitionSchema,
            conf.caseSensitiveAnalysis,
            index,
            new FileOptions(table).storage,
            documents,
            detail = false
          )
          val answer = PlannerClient.plan(
            request,
            TamisConf.python(conf),
            TamisConf.timeoutMs(conf),
            TamisConf.startTimeoutMs(conf)
          )
          answer.warnings.foreach { case (code, text) =>
            Warnings.once(s"planner:$code:$text", text)
          }
          AnswerMemo.put(key, answer)
          Right(answer)
        } catch {
          case e: PlannerUnavailable => Left(e.getMessage)
          case NonFatal(e)           =>
            Warnings.once(
              s"planner:${e.getClass.getName}",
              s"planning failed (${e.getMessage}); the query runs as plain Spark.",
              e
            )
            Left(String.valueOf(e.getMessage))
        }
    }
  }
}
