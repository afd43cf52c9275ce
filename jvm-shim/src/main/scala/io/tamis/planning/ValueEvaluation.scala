package io.tamis.planning

import io.tamis.bridge.{Daemons, SidecarSupervisor}
import io.tamis.conf.TamisConf
import io.tamis.listing.ArrowFile
import io.tamis.wire.{Evaluable, ValueOutcomes, WantedValues}
import java.nio.file.{Files, Path}
import java.util.Base64
import java.util.concurrent.{CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.{AtomicBoolean, AtomicInteger}

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, GenericInternalRow}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Evaluates predicates over one column for single values, with Spark's interpreter.
  *
  * The values travel in a file of the private directory, and one byte comes back for each value, in
  * the same order, then one for NULL and one for NaN.
  */
object ValueEvaluation {

  /** The bytes, as in tamis.expr.outcomes. */
  private[planning] object Outcome {
    val NotEvaluated: Byte = 0
    val False: Byte = 1
    val True: Byte = 2
    val Null: Byte = 3
    val Raised: Byte = 4
  }
  import Outcome._

  /** Evaluations that were given up and still run: a regular expression that backtracks for hours
    * cannot be interrupted. While there are as many as this, nothing is evaluated.
    */
  private val givenUp = new AtomicInteger()
  private val MostGivenUp = 2

  /** Evaluates the wanted values of an answer, passes the outcomes on, and removes their files.
    *
    * @param request
    *   the id of the request
    */
  def forAnswer[A](
      request: String,
      wanted: Seq[WantedValues],
      evaluables: Map[String, Evaluable],
      conf: SQLConf
  )(act: Seq[ValueOutcomes] => A): A = {
    val files = wanted.indices.map(place =>
      SidecarSupervisor.privateDirectory.resolve(s"$request.values$place.arrow")
    )
    try {
      val work = for {
        ((each, file), place) <- wanted.zip(files).zipWithIndex
        evaluable <- evaluables.get(each.key)
      } yield (place, new Work(evaluable, read(file, evaluable.column.dataType)))
      if (givenUp.get >= MostGivenUp) act(Nil)
      else {
        run(work.map(_._2), budgetMillis(conf), conf)
        act(work.map { case (place, done) =>
          val codes = Base64.getEncoder.encodeToString(done.outcomes)
          ValueOutcomes(request, place, done.evaluable.key, codes)
        })
      }
    } finally files.foreach(Files.deleteIfExists(_))
  }

  private def budgetMillis(conf: SQLConf): Long =
    math.min(TamisConf.evaluateValuesTimeoutMs(conf), TamisConf.timeoutMs(conf))

  /** The values of a file, as Catalyst represents them. */
  private[planning] def read(file: Path, t: DataType): IndexedSeq[Any] =
    ArrowFile.read(file)(row => value(row, t)).rows

  private def value(row: InternalRow, t: DataType): Any = t match {
    case BooleanType                                              => row.getLong(0) != 0
    case ByteType                                                 => row.getLong(0).toByte
    case ShortType                                                => row.getLong(0).toShort
    case IntegerType | DateType                                   => row.getLong(0).toInt
    case LongType | TimestampType | TimestampNTZType              => row.getLong(0)
    case FloatType                                                => row.getDouble(0).toFloat
    case DoubleType                                               => row.getDouble(0)
    case d: DecimalType if d.precision <= Decimal.MAX_LONG_DIGITS =>
      Decimal(row.getLong(0), d.precision, d.scale)
    case d: DecimalType =>
      Decimal(
        row.getDecimal(0, DecimalType.MAX_PRECISION, d.scale).toBigDecimal,
        d.precision,
        d.scale
      )
    case BinaryType    => row.getBinary(0)
    case _: StringType => UTF8String.fromBytes(row.getBinary(0))
    case other         => throw new IllegalArgumentException(s"values of type $other")
  }

  /** Evaluates in a thread of its own, and returns when it is done or the budget is spent. */
  private[planning] def run(work: Seq[Work], budgetMillis: Long, conf: SQLConf): Unit = {
    // a copy: the session may change while the thread runs
    val settings = conf.clone()
    val isOver = new AtomicBoolean() // for the one of both threads that is first
    val stop = new AtomicBoolean()
    val done = new CountDownLatch(1)
    Daemons
      .thread("tamis-values") { () =>
        try SQLConf.withExistingConf(settings)(work.foreach(_.evaluate(() => stop.get)))
        finally {
          if (!isOver.compareAndSet(false, true)) givenUp.decrementAndGet()
          done.countDown()
        }
      }
      .start()
    try done.await(budgetMillis, TimeUnit.MILLISECONDS): Unit
    finally {
      stop.set(true)
      if (isOver.compareAndSet(false, true)) givenUp.incrementAndGet(): Unit
    }
  }

  /** One predicate and the values to evaluate it for. The thread that evaluates may still run when
    * the outcomes are read: each of them is one byte, and written once.
    */
  private[planning] final class Work(val evaluable: Evaluable, values: IndexedSeq[Any]) {
    private val codes = new Array[Byte](values.length + 2)

    /** What is known now. */
    def outcomes: Array[Byte] = codes.clone()

    def evaluate(isGivenUp: () => Boolean): Unit = {
      val predicate = evaluable.bound
      val row = new GenericInternalRow(1)
      def of(value: Any): Byte = { row.update(0, value); outcome(predicate, row) }
      def noting(place: Int)(code: => Byte): Unit = if (!isGivenUp()) codes(place) = code
      noting(values.length)(of(null))
      nan.foreach(value => noting(values.length + 1)(of(value)))
      values.indices.foreach(i => noting(i)(both(of, values(i))))
    }

    private def nan: Option[Any] = evaluable.column.dataType match {
      case FloatType  => Some(Float.NaN)
      case DoubleType => Some(Double.NaN)
      case _          => None
    }

    /** A list does not distinguish 0.0 from -0.0, but a function may. */
    private def both(of: Any => Byte, value: Any): Byte = value match {
      case f: Float if f == 0.0f  => same(of(0.0f), of(-0.0f))
      case d: Double if d == 0.0d => same(of(0.0d), of(-0.0d))
      case other                  => of(other)
    }

    private def same(one: Byte, other: Byte): Byte = if (one == other) one else NotEvaluated
  }

  private def outcome(predicate: Expression, row: InternalRow): Byte =
    try
      predicate.eval(row) match {
        case null        => Null
        case is: Boolean => if (is) True else False
        case _           => NotEvaluated
      }
    catch { case NonFatal(_) | _: VirtualMachineError | _: LinkageError => Raised }
}
