package io.tamis.rules

import io.tamis.PlanSuite

/** Users exclude rules with spark.sql.optimizer.excludedRules, by these names. */
class RuleNamesSuite extends PlanSuite {
  test("the names of the optimizer's rules do not depend on their packages") {
    val names = spark.sessionState.optimizer.preCBORules.map(_.ruleName)
    val prefix = "io.tamis.rules."
    assertEquals(
      names.filter(_.startsWith(prefix)).map(_.stripPrefix(prefix)),
      Seq( // and first, where Delta is on the class path, ChooseDeltaFiles
        "UseTamisTables",
        "UseRemoteTables",
        "SwapFileIndex",
        "PruneDeltaCommands",
        "relations.HideCachedEstimates",
        "KeepRecursionStatic",
        "DropProvenNotNull",
        "KeepFilterOrder.Remember",
        "PruneForLimit",
        "PruneForTopK",
        "AggregateFromStatistics",
        "PruneForJoins",
        "AddImpliedFilters",
        "SplitResidual",
        "GroupByPartitions",
        "PruneAtRunTime",
        "LeaveKeysToBloomFilters",
        "AlignSubqueryScans",
        "KeepUsedFilters"
      )
    )
  }
}
