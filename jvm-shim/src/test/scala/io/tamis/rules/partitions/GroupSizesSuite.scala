package io.tamis.rules.partitions

class GroupSizesSuite extends munit.FunSuite {
  private def sizes(bytes: Long*) = GroupSizes(bytes.zipWithIndex.map { case (size, i) =>
    Seq[Any](i) -> size
  }.toMap)

  private def code(sizes: GroupSizes, limits: GroupLimits): Option[String] =
    sizes.refusal(limits).map(_.code)

  private val four = GroupLimits(tasks = 4, leastShare = 10, leastAverage = 20)
  private val (small, uneven) = (Some("PARTITION_GROUPS_SMALL"), Some("PARTITION_GROUPS_UNEVEN"))

  test("groups must have a least size on average") {
    assertEquals(code(sizes(20, 20, 20, 20), four), None)
    assertEquals(code(sizes(20, 20, 20, 19), four), small)
    assertEquals(code(sizes(), four), small)
  }

  test("the largest group must not be larger than twice a fair share") {
    assertEquals(code(sizes(50, 50), four), None)
    assertEquals(code(sizes(51, 49), four), uneven)
    assertEquals(code(sizes(100), four), uneven)
    assertEquals(code(sizes(100), four.copy(tasks = 1)), None)
    assertEquals(code(sizes(100, 1), four.copy(leastShare = 50)), None)
  }

  test("groups of two scans are added") {
    val both = GroupSizes(Map(Seq[Any](1, "a") -> 30L, Seq[Any](2, null) -> 20L)) and
      GroupSizes(Map(Seq[Any](1, "a") -> 5L, Seq[Any](3, "a") -> 7L))
    assertEquals(
      both.bytes,
      Map(Seq[Any](1, "a") -> 35L, Seq[Any](2, null) -> 20L, Seq[Any](3, "a") -> 7L)
    )
  }
}
