package io.tamis.remember

import io.tamis.planning.{PlannedFiles, Question}
import io.tamis.wire.{CanonicalForm, Digest, ExpressionWriter}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.{Locale, TimeZone}

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StructType}

/** Conjuncts that were in force together.
  *
  * @param reading
  *   see [[PredicateKeys.reading]]
  * @param keys
  *   of the conjuncts
  * @param sql
  *   of the conjuncts, for users
  */
final case class PredicateSet(reading: String, keys: Seq[String], sql: Seq[String])

/** Identifies predicates over the rows of a file, whatever query or table they are part of. */
object PredicateKeys {

  /** The key of each conjunct; None if its value may differ for the same row of the same file.
    *
    * The key is the canonical form of the expression, which holds formats, time zones, ANSI mode
    * and collations, and the bodies of lambdas. Subqueries, functions of users and what is not
    * deterministic have no key. Neither has a conjunct over a partition column, whose value belongs
    * to the table and not to the file, or over a whole struct.
    */
  def of(files: PlannedFiles, conjuncts: Seq[Expression]): Seq[Option[String]] = {
    val writer = Question.writer(files)
    val isPartition = partitionColumns(files)
    def isOfFile(e: Expression) = !e.references.exists(isPartition)
    conjuncts.map(c => if (isOfFile(c) && !readsStruct(c)) writer.keyOf(c) else None)
  }

  /** Whether an attribute is a partition column of the table. */
  def partitionColumns(files: PlannedFiles): Attribute => Boolean = {
    val names = files.relation.partitionSchema.fieldNames.map(_.toLowerCase(Locale.ROOT)).toSet
    attribute => names(attribute.name.toLowerCase(Locale.ROOT))
  }

  /** Whether an expression reads a struct as a whole. If a file lacks the fields that a query needs
    * of it, the struct is NULL or not depending on which other fields the query needs.
    */
  private def readsStruct(e: Expression): Boolean = e match {
    case ExpressionWriter.ColumnPath(_) => holdsStruct(e.dataType)
    case other                          => other.children.exists(readsStruct)
  }

  private def holdsStruct(t: DataType): Boolean = t match {
    case _: StructType => true
    case a: ArrayType  => holdsStruct(a.elementType)
    case m: MapType    => holdsStruct(m.keyType) || holdsStruct(m.valueType)
    case _             => false
  }

  /** A digest of the settings that decide which rows a reader returns, and where it finds the file.
    * The session of the relation has the same ones (Eligibility.isReadAlike). The time zone of the
    * JVM is among them: with LEGACY rebasing, it decides the values of old timestamps in files that
    * do not name their own.
    */
  def reading(files: PlannedFiles): String = {
    val confs = SQLConf.get.getAllConfs.toSeq.filter { case (key, _) =>
      OfReaders.exists(key.startsWith)
    }
    val options = files.relation.options.toSeq.filterNot { case (key, _) =>
      NotOfReaders(key.toLowerCase(Locale.ROOT))
    }
    val named = options.map { case (k, v) => s"option $k" -> v }
    val all = (confs ++ named).filterNot { case (k, _) => isSecret(k) } :+
      ("java time zone" -> TimeZone.getDefault.getID)
    Digest.sha256(all.sorted.mkString("\n").getBytes(UTF_8), 16)
  }

  /** The settings on which the rows that readers return, and the values of functions, may depend,
    * as far as tasks see them. A plan may be run under other settings than those for which it was
    * made, and then its keys do not say what the tasks have computed.
    */
  private[remember] def ofTasks(conf: SQLConf): Map[String, String] =
    conf.getAllConfs.filter { case (key, _) =>
      key.startsWith("spark.") && !isSecret(key) &&
      (OfReaders.exists(key.startsWith) || CanonicalForm.ReadLate.exists(key.startsWith))
    }

  /** Keys begin with these. Those of file systems are among them, because the same URI may name
    * another file under another endpoint.
    */
  private val OfReaders = Seq(
    "fs.",
    "parquet.",
    "spark.hadoop.",
    "spark.sql.caseSensitive",
    "spark.sql.files.ignore",
    "spark.sql.legacy.",
    "spark.sql.parquet.",
    "spark.sql.session.timeZone"
  )

  private val NotOfReaders = Set("path", "paths", "serialization.format")

  /** Credentials change often, and do not decide what is read. */
  private def isSecret(key: String): Boolean = {
    val lower = key.toLowerCase(Locale.ROOT)
    Seq("secret", "token", "password", "credential", "access.key").exists(lower.contains)
  }

  def sqlOf(e: Expression): String = ExpressionWriter.sqlOf(e)
}
