package io.tamis.formats.delta

import io.tamis.formats.Members

import scala.collection.mutable
import scala.util.Try

import org.apache.spark.sql.{SparkSession, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule

/** Injects a pre-CBO rule before those of extensions that are listed before tamis, if Delta may be
  * one of them.
  *
  * Spark has no call for this: the rule becomes the first of the private buffer of such rules (seen
  * on 4.0 and 4.1). On a release without this buffer, Delta chooses the files of its scans itself.
  */
private[tamis] object BeforeDelta {
  def inject(
      extensions: SparkSessionExtensions
  )(rule: SparkSession => Rule[LogicalPlan]): Unit =
    if (hasDelta)
      Try(Members.field(extensions, "preCBORules")).foreach {
        case rules: mutable.Buffer[_] =>
          rules.asInstanceOf[mutable.Buffer[SparkSession => Rule[LogicalPlan]]].prepend(rule)
        case _ =>
      }

  private def hasDelta: Boolean = {
    val loader = Option(Thread.currentThread.getContextClassLoader)
    Try(
      Class.forName(DeltaFiles.Extension, false, loader.getOrElse(getClass.getClassLoader))
    ).isSuccess
  }
}
