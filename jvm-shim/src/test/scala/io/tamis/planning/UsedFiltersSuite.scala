package io.tamis.planning

import io.tamis.listing.Listing
import io.tamis.wire.{Pushdown, Reasons}

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.datasources.{FileStatusWithMetadata, PartitionDirectory}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._

class UsedFiltersSuite extends munit.FunSuite {
  private val k = AttributeReference("k", LongType)()
  private val s = AttributeReference("s", StringType)()

  private val isThree = EqualTo(k, Literal(3L))
  private val isRow = EqualTo(s, Literal("row"))
  private val isListed = In(k, Seq(Literal(3L), Literal(4L)))
  private val isKnown = IsNotNull(k)

  private val bytes = 100L
  private val kept = {
    val file = FileStatusWithMetadata(new FileStatus(bytes, false, 1, 1, 1, new Path("file:/t/a")))
    val directory = PartitionDirectory(InternalRow.empty, Seq(file))
    FileSelection.all(Listing.of(Seq(directory), new StructType))
  }

  private val anySize = FilterUse(-1, Long.MaxValue)

  /** The SQL of the conjuncts that stay although they are exact. */
  private def left(exact: Expression*)(residual: Expression*)(uses: FilterUse*): Seq[String] = {
    val conjuncts = exact.map(Conjunct(_, Pushdown.Exact, None, None)) ++
      residual.map(Conjunct(_, Pushdown.Inexact, None, None))
    val decision = Decision(kept, conjuncts, None, None, 0, None)
    val decided = UsedFilters.leftIn(decision, uses, new SQLConf)
    assertEquals(decided.conjuncts.map(_.expression), conjuncts.map(_.expression))
    assertEquals(
      decided.residual.toSet -- residual,
      decided.conjuncts.collect {
        case c if c.reason.exists(_.code == "FILTER_NEEDED_BY_JOIN_RULES") => c.expression
      }.toSet
    )
    decided.conjuncts.filter(_.reason.exists(_.code == "FILTER_NEEDED_BY_JOIN_RULES")).map(_.sql)
  }

  test("Spark expects comparisons, lists and patterns to be selective, and IS NOT NULL not") {
    Seq(
      isThree -> true,
      GreaterThan(k, Literal(3L)) -> true,
      isListed -> true,
      Like(s, Literal("a%b"), '\\') -> true,
      StartsWith(s, Literal("a")) -> true,
      Not(isThree) -> true,
      And(isKnown, isThree) -> true,
      Or(isThree, isRow) -> true,
      Or(isThree, isKnown) -> false,
      isKnown -> false,
      IsNull(k) -> false
    ).foreach { case (e, expected) => assertEquals(SeemsSelective(e), expected, e.sql) }
  }

  test("an exact conjunct stays if a rule looks for a filter") {
    assertEquals(left(isKnown, isThree)()(anySize), Seq("(k = 3L)"))
  }

  test("no conjunct stays without a use, or if the kept files have another size") {
    assertEquals(left(isThree)()(), Nil)
    assertEquals(left(isThree)()(FilterUse(bytes, Long.MaxValue)), Nil)
    assertEquals(left(isThree)()(FilterUse(-1, bytes - 1)), Nil)
    assertEquals(left(isThree)()(FilterUse(bytes - 1, bytes)), Seq("(k = 3L)"))
  }

  test("no conjunct stays if the residual is such a filter already") {
    assertEquals(left(isThree)(isRow)(anySize), Nil)
    assertEquals(left(isThree)(isKnown)(anySize), Seq("(k = 3L)"))
  }

  test("of several conjuncts the cheapest stays") {
    assertEquals(left(isListed, isRow, isThree)()(anySize), Seq("(k = 3L)"))
    assertEquals(left(isListed, isRow)()(anySize), Seq("(s = 'row')"))
    assertEquals(left(StartsWith(s, Literal("a")), isListed)()(anySize), Seq("(k IN (3L, 4L))"))
  }

  test("a conjunct that is not selective stays only for rules that look for any predicate") {
    val isNull = IsNull(k)
    assertEquals(left(isNull, isKnown)()(anySize), Nil)
    assertEquals(left(isNull, isKnown)()(anySize.copy(anyPredicate = true)), Seq("(k IS NULL)"))
    assertEquals(left(isKnown)()(anySize.copy(anyPredicate = true)), Nil)
  }

  test("beside an expensive residual nothing stays for a rule that takes only simple filters") {
    val pattern = IsNotNull(new RegExpReplace(s, Literal("a+b"), Literal("c")))
    assertEquals(left(isThree)(pattern)(anySize.copy(simpleOnly = true)), Nil)
    assertEquals(left(isThree)(pattern)(anySize), Seq("(k = 3L)"))
    assertEquals(left(isThree)()(anySize.copy(simpleOnly = true)), Seq("(k = 3L)"))
  }

  test("a conjunct that stays is still known to be true for every row") {
    val overlap = Some(Reasons("RANGES_OVERLAP"))
    val exact = Conjunct(isThree, Pushdown.Exact, None, None)
    assert(exact.isProven)
    assert(exact.leftInPlan(LeftInPlan.NeededByJoinRules).isProven)
    assert(!Conjunct(isThree, Pushdown.Inexact, overlap, None).isProven)
  }
}
