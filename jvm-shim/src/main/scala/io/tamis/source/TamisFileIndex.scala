package io.tamis.source

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.datasources.{FilePruningRunner, PartitionDirectory}

/** The file index of a V1 relation that stays Spark's own: it lists what a decision keeps, each
  * file once, and Spark's scan does the rest. EXPLAIN shows it as the scan's Location.
  */
final class TamisFileIndex(val files: SwappedFiles, val decision: Decision)
    extends FixedFileIndex(files, decision.kept) {

  /** The kept files, of partitions and with constant metadata that pass.
    *
    * Spark's scan does not apply filters over partition columns to rows: they are true of every row
    * that a file index lists. Those that were exact have left the plan, and hold for all that is
    * kept. Others may come: what the planner was not told, or what Spark pushes down later. Values
    * of a running query (dynamic pruning) Spark applies itself to what is listed here.
    *
    * Filters over constant metadata (`_metadata.file_name = …`) are Spark's to test
    * (FilePruningRunner, seen on 4.0 to 4.3); it applies them to rows as well.
    */
  override def listFiles(
      partitionFilters: Seq[Expression],
      dataFilters: Seq[Expression]
  ): Seq[PartitionDirectory] = {
    val schema = files.relation.partitionSchema
    val names = schema.fieldNames.toSet
    val ofPartitions =
      partitionFilters.filter(f => f.references.nonEmpty && f.references.forall(a => names(a.name)))
    val passes = PartitionPredicate.of(ofPartitions, schema)
    val ofMetadata = new FilePruningRunner(dataFilters)
    kept.directories.filter(d => passes(d.values)).map(ofMetadata.prune)
  }

  override def toString: String = s"TamisFileIndex(${kept.count} of ${kept.listing.size} files)"
}
