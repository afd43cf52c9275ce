import sjsonnew.shaded.scalajson.ast.unsafe._
import sjsonnew.support.scalajson.unsafe.Parser

/** Writes a typed accessor for each entry of conf.json, the registry that Python also reads. */
object ConfAccessors {

  /** Returns the Scala source. `spark.tamis.index.enabled` becomes `indexEnabled`. The name of a
    * time ends with Ms, of a size with Bytes, and of a choice with Name.
    */
  def source(registry: String): String = {
    val entries = elements(Parser.parseUnsafe(registry)).collect { case JObject(fields) =>
      new Entry(fields.toSeq)
    }
    s"""package io.tamis.conf
       |
       |/** Generated from conf.json. */
       |private[conf] trait ConfAccessors {
       |${entries.map(e => s"  val ${e.name} = ${e.value}\n").mkString}
       |  private[conf] val entries: Seq[ConfEntry[_]] = Seq(${entries.map(_.name).mkString(", ")})
       |}
       |""".stripMargin
  }

  private final class Entry(fields: Seq[JField]) {
    private def field(name: String): Option[JValue] = fields.collectFirst {
      case JField(`name`, value) if value != JNull => value
    }
    private def text(name: String): Option[String] = field(name).map {
      case JString(text)   => text
      case JNumber(number) => number
      case other           => other.toString.stripPrefix("J").toLowerCase // JTrue, JFalse
    }
    private def texts(name: String): Seq[String] =
      field(name).toSeq.flatMap(elements).collect { case JString(text) => text }

    private val words = text("key").get.stripPrefix("spark.tamis.").split('.')
    private val unit = quoted(text("unit").getOrElse(""))
    private val minimum = option(text("min"))
    private val (values, suffix) = text("type").get match {
      case "boolean" => ("Bool", "")
      case "enum"    => (s"Choice(${texts("values").map(quoted).mkString(", ")})", "Name")
      case "int"     => (s"Whole($minimum)", "")
      case "time"    => (s"Time($unit, $minimum)", "Ms")
      case "bytes"   => (s"Bytes($unit, $minimum)", "Bytes")
      case "string"  => (text("list").fold("Str")(_.capitalize), "")
    }

    val name: String = words.head + words.tail.map(_.capitalize).mkString + suffix
    val value: String = Seq(
      quoted(text("key").get),
      s"ConfType.$values",
      option(text("default")),
      quoted(text("doc").get),
      quoted(text("since").get),
      texts("alternatives").map(quoted).mkString("Seq(", ", ", ")")
    ).mkString("ConfEntry(", ", ", ")")
  }

  private def elements(array: JValue): Seq[JValue] = array match {
    case JArray(all) => all.toSeq
    case other       => sys.error(s"$other is not an array")
  }

  private def option(text: Option[String]): String = text.fold("None")(t => s"Some(${quoted(t)})")

  private def quoted(text: String): String = "\"" + text.flatMap {
    case c if c == '"' || c == '\\'    => s"\\$c"
    case c if c < ' ' || c.toInt > 126 => f"\\u${c.toInt}%04x"
    case c                             => c.toString
  } + "\""
}
