package io.tamis.listing

import io.tamis.wire.{Digest, Json}
import java.nio.charset.{Charset, StandardCharsets}
import java.util.{Locale, TimeZone}

import scala.collection.immutable.TreeMap
import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._

/** Fingerprint of everything that decides which rows Spark reads from an ORC, CSV or JSON file.
  *
  * Such files do not describe their own content: the same line is another row under another schema,
  * separator or time zone. An index of such files stores the fingerprint under which it was built,
  * and serves only queries with the same fingerprint. The fingerprint therefore contains too much
  * rather than too little: an entry that has no effect costs a pruned scan, but a missing entry
  * gives a wrong result.
  */
object ReadFingerprint {

  /** A JSON object with sorted keys, see tamis.indexing.read.reader_options; None for Parquet,
    * which needs no fingerprint.
    */
  def of(relation: HadoopFsRelation): Option[String] =
    if (FileFormats.isParquet(relation)) None
    else {
      // other formats cannot have an index, so none matches
      val format = FileFormats.ofRows(relation).getOrElse(relation.fileFormat.getClass.getName)
      val out = Json.obj(
        "format" -> format,
        "schema" -> plain(relation.dataSchema).json,
        "partitions" -> plain(relation.partitionSchema).json,
        "options" -> options(relation),
        "confs" -> confs(relation),
        "machine" -> machine
      )
      Some(Json.text(out))
    }

  /** The schema without nullability, which Spark ignores for files, and without comments. */
  private def plain(schema: StructType): StructType = StructType(schema.fields.map { f =>
    val metadata = new MetadataBuilder().withMetadata(f.metadata).remove("comment").build()
    StructField(f.name, plain(f.dataType), nullable = true, metadata)
  })

  private def plain(dataType: DataType): DataType = dataType match {
    case s: StructType => plain(s)
    case a: ArrayType  => ArrayType(plain(a.elementType), containsNull = true)
    case m: MapType    => MapType(plain(m.keyType), plain(m.valueType), valueContainsNull = true)
    case other         => other
  }

  /** Options that name where the files lie, or that a metastore notes for Hive. They do not change
    * how files are read.
    */
  private val NotOfReading = Set("path", "paths", "__paths__", "serialization.format")

  private def options(relation: HadoopFsRelation): TreeMap[String, String] = {
    val lower = relation.options.map { case (k, v) => k.toLowerCase(Locale.ROOT) -> v }
    sorted(lower.filterNot { case (key, _) => NotOfReading(key) })
  }

  /** Prefixes of the confs that Spark's readers, parsers and formatters use. */
  private val Prefixes = Seq(
    "spark.sql.csv.",
    "spark.sql.json.",
    "spark.sql.orc.",
    "spark.sql.legacy.",
    "spark.sql.ansi.",
    "spark.sql.files.ignore",
    "spark.sql.session.",
    "spark.sql.datetime.",
    "spark.sql.timestampType",
    "spark.sql.caseSensitive",
    "spark.sql.columnNameOfCorruptRecord",
    "spark.sql.charAsVarchar",
    "spark.sql.readSideCharPadding",
    "spark.sql.preserveCharVarcharTypeInfo",
    "spark.sql.defaultColumn.",
    "spark.sql.variant.",
    "spark.sql.icu.",
    "spark.sql.collation.",
    "spark.sql.timeType.",
    "spark.sql.types.",
    "spark.sql.hive.convertMetastoreOrc"
  )

  /** The same for Hadoop; a session may set these as well. */
  private val HadoopPrefixes = Seq(
    "orc.",
    "hive.exec.orc.",
    "textinputformat.",
    "mapreduce.input.linerecordreader.",
    "io.compression."
  )

  private val ZoneKey = "spark.sql.session.timeZone"

  /** The confs whose value is not Spark's default, and the time zone of the session.
    *
    * The reader is created from the session of the relation, but code that runs sees the confs of
    * the active session. If the two differ, the fingerprint contains both, so that no index that
    * was built in one session matches.
    */
  private def confs(relation: HadoopFsRelation): TreeMap[String, String] = {
    val own = ofSession(relation.sparkSession.sessionState.conf)
    val active = ofSession(SQLConf.get)
    val hadoop = relation.sparkSession.sparkContext.hadoopConfiguration
    val ofHadoop = HadoopPrefixes.flatMap(prefix =>
      hadoop.getPropsWithPrefix(prefix).asScala.map { case (k, v) => s"hadoop $prefix$k" -> v }
    )
    val other =
      if (own == active) Nil else active.toSeq.map { case (k, v) => s"active $k" -> v }
    sorted((own ++ other ++ ofHadoop).toMap)
  }

  private def ofSession(conf: SQLConf): Map[String, String] =
    conf.getAllConfs.filter { case (key, value) =>
      (Prefixes ++ HadoopPrefixes).exists(key.startsWith) && !defaults(key).contains(value)
    } + (ZoneKey -> conf.sessionLocalTimeZone)

  private val fresh = new SQLConf
  private val known = new java.util.concurrent.ConcurrentHashMap[String, Option[String]]

  /** The default of a conf; None if it has none or Spark does not know it. */
  private def defaults(key: String): Option[String] =
    known.computeIfAbsent(key, k => Try(fresh.getConfString(k)).toOption.filter(_ != null))

  /** Properties of the driver. Executors are assumed to have the same. */
  private def machine: TreeMap[String, String] = TreeMap(
    "spark" -> SPARK_VERSION,
    "java" -> System.getProperty("java.version"),
    "zone" -> TimeZone.getDefault.getID,
    "locale" -> Locale.getDefault.toLanguageTag,
    "charset" -> Charset.defaultCharset.name
  )

  /** Sorts by name. A value that Spark considers a secret is replaced by its hash, since an index
    * is a plain file.
    */
  private def sorted(pairs: Map[String, String]): TreeMap[String, String] = {
    val shown = SQLConf.get.redactOptions(pairs)
    TreeMap.from(pairs.collect {
      case (key, value) if value != null =>
        key -> (if (shown.get(key).contains(value)) value else hash(value))
    })
  }

  private def hash(secret: String): String =
    "sha256 " + Digest.sha256(secret.getBytes(StandardCharsets.UTF_8), 8)
}
