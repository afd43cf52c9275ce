package io.tamis.remember

import scala.collection.mutable
import scala.util.Random

import org.apache.spark.paths.SparkPath
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}

/** Random files, which tasks read in random splits, some of them twice or not to their end. What is
  * learnt has to be true for the rows.
  */
class LearntClaimsSuite extends munit.FunSuite {

  private case class Row(passes: Boolean, value: Option[Long])

  /** @param first
    *   the number of the first row in the file
    * @param start
    *   the first byte in the file
    */
  private case class Group(first: Long, rows: Vector[Row], start: Long, bytes: Long) {
    def stop: Long = first + rows.size
    def isHit: Boolean = rows.exists(_.passes)
  }

  private case class File(uri: String, groups: Vector[Group]) {
    val size: Long = groups.map(_.bytes).sum
    val rows: Vector[Row] = groups.flatMap(_.rows)
  }

  /** Of a split whose footer lists some row groups, and that skips others of these. */
  private final class Reader(listed: Seq[Group], read: IndexedSeq[Group]) extends RowGroupPosition {
    var current: Int = -1
    override def rows(group: Int): Option[(Long, Long)] =
      read.lift(group).map(g => g.first -> g.stop)
    override def lastRow: Long = listed.map(_.stop).maxOption.getOrElse(0L)
    override def rowsOfFile: Option[Long] =
      Option.when(listed.map(_.rows.size.toLong).sum == lastRow)(lastRow)
  }

  private final class Case(random: Random) {
    private def oneIn(n: Int) = random.nextInt(n) == 0

    private def file(number: Int): File = {
      // in most row groups all rows pass, or none, or few
      def row(of: Int) = Row(
        of match { case 0 => true; case 1 => false; case _ => oneIn(of) },
        Option.when(!oneIn(5))(random.nextInt(50).toLong)
      )
      val kinds = Seq.fill(1 + random.nextInt(2))(random.nextInt(4))
      val groups = mutable.ArrayBuffer.empty[Group]
      (0 until random.nextInt(5)).foreach { _ =>
        val size = if (oneIn(40)) 1000 + random.nextInt(60) else 1 + random.nextInt(4)
        val kind = kinds(random.nextInt(kinds.size))
        val (first, start) =
          groups.lastOption.fold((0L, 0L))(g => (g.stop, g.start + g.bytes))
        groups += Group(first, Vector.fill(size)(row(kind)), start, 1L + random.nextInt(9))
      }
      File(s"file:/t/$number", groups.toVector)
    }

    val files: Vector[File] = Vector.tabulate(1 + random.nextInt(2))(file)
    private val of = files.map(f => f.uri -> f).toMap

    private def split(file: File, start: Long, stop: Long) = PartitionedFile(
      InternalRow.empty,
      SparkPath.fromUrlString(file.uri),
      start,
      stop - start,
      fileSize = file.size
    )

    private def groups(s: PartitionedFile): Vector[Group] = of(s.urlEncodedPath).groups.filter {
      g =>
        val middle = g.start + g.bytes / 2
        s.start <= middle && middle < s.start + s.length
    }

    private val splits = files.flatMap { file =>
      val cuts = if (oneIn(2)) Nil else Seq.fill(2)(random.nextLong(file.size + 1))
      val edges = (0L +: cuts :+ file.size).distinct.sorted
      val parts = edges.zip(edges.drop(1)).map { case (a, b) => split(file, a, b) }
      // a query may read a file twice, and statistics leave out what does not pass
      val twice = if (oneIn(6)) parts ++ parts else parts
      twice.filterNot(s => oneIn(5) && !groups(s).exists(_.isHit))
    }

    private val partitions = random
      .shuffle(splits)
      .grouped(1 + random.nextInt(3))
      .zipWithIndex
      .map { case (some, i) => FilePartition(i, some.toArray) }
      .toVector

    /** What an attempt of a task finds, which stops after some rows. */
    private def attempt(partition: FilePartition): PartitionOutcome = {
      val hits = new TaskHits(1)
      if (!oneIn(20)) hits.observe()
      hits.readerOpens()
      var rowsLeft = if (oneIn(2)) Int.MaxValue else random.nextInt(20)
      val found = Seq.newBuilder[(Int, SplitOutcome)]
      partition.files.iterator.zipWithIndex.takeWhile(_ => rowsLeft > 0).foreach {
        case (s, position) =>
          val progress = read(s, hits, () => { rowsLeft -= 1; rowsLeft > 0 })
          (if (rowsLeft > 0) progress.ended() else progress.stopped())
            .foreach(found += position -> _)
      }
      hits.readerEnds()
      PartitionOutcome.of(found.result())
    }

    private def read(s: PartitionedFile, hits: TaskHits, goesOn: () => Boolean): SplitProgress = {
      val listed = groups(s)
      val taken = listed.filter(g => g.isHit || !oneIn(4)) // by bounds, or a dictionary
      val reader = new Reader(listed, taken)
      val isKnown = !oneIn(6)
      val isWhole = s.start == 0 && s.length == s.fileSize
      val progress = new SplitProgress(hits, isWhole, _ => Option.when(isKnown)(reader))
      // pages that are skipped, and rows that the reader filters by itself
      val batches = for {
        (group, i) <- taken.zipWithIndex.iterator
        batch <- group.rows.filter(_.passes || !oneIn(9)).grouped(1 + random.nextInt(4))
      } yield (i, batch)
      var isAsked = true
      while (isAsked && batches.hasNext) {
        val (i, batch) = batches.next()
        reader.current = i
        progress.loaded(reader)
        if (oneIn(200)) hits.readerOpens() // for a second scan in the task
        batch.iterator.takeWhile(_ => isAsked).foreach { row =>
          if (row.passes) hits.note(_ => row.value.isEmpty, _ => row.value.get)
          isAsked = goesOn()
        }
      }
      progress
    }

    val found: Map[String, FoundInFile] = {
      val outcomes = new SplitOutcomes
      for (partition <- partitions; _ <- 0 until random.nextInt(3))
        outcomes.add(partition.index -> attempt(partition))
      Splits.found(partitions, outcomes.value)
    }
  }

  private def rowsOf(part: PartOfFile, file: File): Seq[Row] = part match {
    case WholeFile      => file.rows
    case SomeRows(some) =>
      some.pairs.flatMap { case (start, stop) =>
        assert(0 <= start && start < stop && stop <= file.rows.size)
        file.rows.slice(start.toInt, stop.toInt)
      }
  }

  test("what is learnt is true for the rows") {
    val claims = mutable.Map.empty[String, Int].withDefaultValue(0)
    (0 until 8000).foreach { seed =>
      val random = new Case(new Random(seed))
      for (file <- random.files; found <- random.found.get(file.uri)) {
        def hint = s"seed $seed: $found of $file"
        found.withoutHit.foreach { part =>
          claims(s"without ${part.getClass.getSimpleName}") += 1
          assert(rowsOf(part, file).forall(!_.passes), hint)
        }
        found.full.foreach { part =>
          claims(s"full ${part.getClass.getSimpleName}") += 1
          assert(rowsOf(part, file).nonEmpty && rowsOf(part, file).forall(_.passes), hint)
        }
        found.values.foreach { ranges =>
          claims("values") += 1
          val values = file.rows.filter(_.passes).flatMap(_.value)
          // not only bounds: top-k takes them for values of rows
          val expected = (values.minOption, values.maxOption) match {
            case (Some(least), Some(greatest)) => Seq(least, greatest)
            case _                             => Seq(Long.MaxValue, Long.MinValue)
          }
          assertEquals(Seq(ranges.least(0), ranges.greatest(0)), expected, hint)
        }
      }
    }
    assert(claims.size == 5 && claims.values.forall(_ > 40), claims)
  }
}
