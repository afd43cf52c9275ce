package io.tamis.formats.delta

import io.tamis.formats.Members

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{
  BinaryComparison,
  EqualNullSafe,
  EqualTo,
  Expression,
  GreaterThan,
  GreaterThanOrEqual,
  InSet,
  IsNull,
  LessThan,
  LessThanOrEqual,
  Literal,
  Not
}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** What Delta's own data skipping does with filters, in the words of its class DataFiltersBuilder:
  * seen in Delta 4.4.0.
  */
private[delta] final class DeltaSkipping(session: SparkSession, snapshot: AnyRef) {
  import DeltaSkipping._

  private val schema = Members.get[StructType](snapshot, "schema")

  private lazy val builder: AnyRef = {
    val loader = snapshot.getClass.getClassLoader
    val statistics: AnyRef => AnyRef = Members.call(snapshot, "getStatsColumnOpt", _)
    val skippingType = Members.call(Members.singleton(loader, Types), "dataSkippingOnlyV1")
    val of = Class.forName(Builder, true, loader)
    Members.make(of, session, skippingType, statistics, Set.empty[String], Boolean.box(true))
  }

  /** Whether it derives filters over partition columns from filters over other columns. */
  def derivesFilters: Boolean = schema.exists(_.metadata.contains(Generated))

  /** Whether it evaluates other filters on the minima of files in which all values are equal. */
  def evaluatesMinima: Boolean =
    SQLConf.get.getConfString(PartitionLike, "false").trim.toBoolean

  /** What it knows of a filter over other than partition columns; None: it does not use it. */
  def of(filter: Expression): Option[Skipping] =
    Members.get[Option[AnyRef]](builder, "apply", filter).map { predicate =>
      val columns = Members
        .get[Set[AnyRef]](predicate, "referencedStats")
        .map(Members.get[Seq[String]](_, "pathToColumn").reverse)
        .filter(_.nonEmpty)
      Skipping(filter, columns.exists(mayKnowMore(_, filter)) || isAtEdge(filter))
    }

  /** Whether it may know more than tamis of a column.
    *
    *   - tamis uses no statistics of columns that are collated, or of unknown types.
    *   - Bounds of FLOAT are one float wider: their text in the log may be that of a double. So are
    *     those of DOUBLE in columns that were widened.
    *   - Some writers leave NaN out of bounds of DOUBLE. To Delta, no number is above the maximum.
    *   - Of fields of structs, writers count NULLs in different ways. tamis knows only whether all
    *     values are NULL, which is all that Delta uses for IS NOT NULL.
    *   - Counts of NULLs under names of parts of arrays and maps may be those of such parts.
    */
  private def mayKnowMore(path: Seq[String], filter: Expression): Boolean = {
    val fields = lineage(path)
    fields.size < path.size || !isKnown(fields.last.dataType) ||
    fields.last.dataType == FloatType ||
    fields.last.dataType == DoubleType &&
    (fields.last.metadata.contains(TypeChanges) || mayAcceptNaN(filter)) ||
    path.size > 1 && filter.exists {
      case _: IsNull | _: Not | _: EqualNullSafe => true
      case _                                     => false
    } || hasCollections && namesOf(fields.last).exists(PartsOfCollections)
  }

  private def lineage(path: Seq[String]): Seq[StructField] = path
    .foldLeft((Seq.empty[StructField], Option[DataType](schema))) {
      case ((found, Some(struct: StructType)), name) =>
        struct.find(_.name.equalsIgnoreCase(name)) match {
          case Some(field) => (found :+ field, Some(field.dataType))
          case None        => (found, None)
        }
      case ((found, _), _) => (found, None)
    }
    ._1

  private lazy val hasCollections: Boolean = hasCollection(schema)

  private def hasCollection(dataType: DataType): Boolean = dataType match {
    case struct: StructType        => struct.exists(field => hasCollection(field.dataType))
    case _: ArrayType | _: MapType => true
    case _                         => false
  }
}

/** A filter by which Delta leaves out files.
  *
  * @param mayKnowMore
  *   whether Delta may leave out a file that tamis keeps
  */
private[delta] final case class Skipping(filter: Expression, mayKnowMore: Boolean)

private[delta] object DeltaSkipping {
  private val Builder = "org.apache.spark.sql.delta.stats.DataFiltersBuilder"
  private val Types = "org.apache.spark.sql.delta.stats.DeltaDataSkippingType"
  private val PartitionLike = "spark.databricks.delta.skipping.partitionLikeFilters.enabled"
  private val Generated = "delta.generationExpression"
  private val TypeChanges = "delta.typeChanges"
  private val PhysicalName = "delta.columnMapping.physicalName"

  // as in tamis.tables.delta.columns
  private val PartsOfCollections =
    Set("key", "value", "key_value", "element", "item", "list")

  private def namesOf(field: StructField): Seq[String] = {
    val physical = Option.when(field.metadata.contains(PhysicalName))(
      field.metadata.getString(PhysicalName)
    )
    (field.name +: physical.toSeq).map(_.toLowerCase(java.util.Locale.ROOT))
  }

  private def isKnown(dataType: DataType): Boolean = dataType match {
    case _: StringType => dataType == StringType // not collated
    case _: NumericType | BooleanType | BinaryType | DateType | TimestampType | TimestampNTZType =>
      true
    case _ => false
  }

  /** Whether a filter over columns of DOUBLE may be true for NaN, which is the greatest number. */
  private def mayAcceptNaN(filter: Expression): Boolean = {
    def isColumn(side: Expression): Boolean = side.dataType == DoubleType && !side.foldable
    def isNaN(value: Any): Boolean = value match {
      case number: Double => number.isNaN
      case _              => false
    }
    filter.exists {
      case _: Not                      => true
      case GreaterThan(left, _)        => isColumn(left)
      case GreaterThanOrEqual(left, _) => isColumn(left)
      case LessThan(_, right)          => isColumn(right)
      case LessThanOrEqual(_, right)   => isColumn(right)
      case Literal(value, _)           => isNaN(value)
      case InSet(_, values)            => values.exists(isNaN)
      case _                           => false
    }
  }

  /** Whether a constant may lie between what is recorded for a file and the wider bound that tamis
    * takes it for: see tamis.tables.delta.edges. The bound is then not as good as that of Delta.
    */
  private def isAtEdge(filter: Expression): Boolean = {
    lazy val isRange = filter.exists {
      case _: Not              => true
      case c: BinaryComparison => !c.isInstanceOf[EqualTo]
      case _                   => false
    }
    def isNear(value: Any, dataType: DataType): Boolean = value match {
      case text: UTF8String =>
        text.contains(Replacement) || text.numBytes >= LongText && isRange
      case number: Decimal =>
        number.scale > GreatestPower ||
        number.toJavaBigDecimal.unscaledValue.abs.bitLength > ShortBits
      case days: Int if dataType == DateType => days < FirstDay
      case micros: Long if dataType == TimestampType || dataType == TimestampNTZType =>
        micros < FirstMicros
      case _ => false
    }
    filter.exists {
      case Literal(value, dataType) => isNear(value, dataType)
      case InSet(child, values)     => values.exists(isNear(_, child.dataType))
      case _                        => false
    }
  }

  /** An exact maximum of as many bytes may be one that was cut. No text equals a constant behind it
    * if the constant does not begin with all of it.
    */
  private val LongText = 32
  private val Replacement = UTF8String.fromString("\ufffd")

  /** Decimals of more bits may have more than 15 digits. */
  private val ShortBits = 46
  private val GreatestPower = 22

  /** In November 1582, and in January 1973. */
  private val FirstDay = -141400
  private val FirstMicros = 1100L * 86400 * 1000 * 1000
}
