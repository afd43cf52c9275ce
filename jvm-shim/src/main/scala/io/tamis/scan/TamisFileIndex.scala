package io.tamis.scan

import io.tamis.listing.{PartitionPredicate, RecordedFileIndex}
import io.tamis.planning.{Decision, SwappedFiles}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.datasources.{FilePruningRunner, PartitionDirectory}

/** The file index of a V1 relation that stays Spark's own: it lists what a decision keeps, each
  * file once, and Spark's scan does the rest. EXPLAIN shows it as the Location of the scan.
  */
final class TamisFileIndex(val files: SwappedFiles, val decision: Decision)
    extends FixedFileIndex(files, decision.kept) {

  /** The kept files whose partition values and constant metadata satisfy the filters.
    *
    * Spark's scan does not apply filters over partition columns to rows: they must be true for
    * every row that a file index lists. The exact ones have left the plan and hold for everything
    * that is kept. Others may remain: filters that the planner did not get, or that Spark pushes
    * down later. Spark itself applies the values of a running query (dynamic pruning) to what is
    * listed here.
    *
    * Filters over constant metadata (`_metadata.file_name = …`) are tested with Spark's code
    * (FilePruningRunner, seen on 4.0 to 4.3); Spark applies them to rows as well.
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
    val listed = kept.directories.filter(d => passes(d.values))
    files.relation.location match {
      // FilePruningRunner does not know the metadata that a table format adds
      case _: RecordedFileIndex => listed
      case _                    => listed.map(new FilePruningRunner(dataFilters).prune)
    }
  }

  override def toString: String = s"TamisFileIndex(${kept.count} of ${kept.listing.size} files)"
}
