package io.tamis.formats.delta

import io.tamis.formats.{FormatFailure, Members}

import scala.collection.mutable

import org.apache.spark.sql.{SparkSession, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule

/** Injects a pre-CBO rule before those of extensions that are listed before tamis.
  *
  * Spark has no call for this: the rule becomes the first of the private buffer of such rules (seen
  * on 4.0 and 4.1). Without it, Delta chooses the files of its scans itself.
  */
private[tamis] object BeforeDelta {
  def inject(
      extensions: SparkSessionExtensions
  )(rule: SparkSession => Rule[LogicalPlan]): Unit = FormatFailure.kept(()) {
    val rules = Members.field(extensions, "preCBORules")
    rules.asInstanceOf[mutable.Buffer[SparkSession => Rule[LogicalPlan]]].prepend(rule): Unit
  }
}
