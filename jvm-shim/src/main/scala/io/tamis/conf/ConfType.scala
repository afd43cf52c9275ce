package io.tamis.conf

import java.util.concurrent.TimeUnit

import scala.util.Try

import org.apache.spark.network.util.JavaUtils

/** What the text of a conf means, and which texts are allowed. */
private[conf] sealed abstract class ConfType[A] {

  /** The value of an allowed text; of None if the conf is not set. */
  def read(text: Option[String]): A
  def allows(text: String): Boolean

  /** The allowed values, as the object of a sentence. */
  def allowed(default: Option[String]): String
}

private[conf] object ConfType {
  case object Bool extends ConfType[Boolean] {
    override def read(text: Option[String]): Boolean = text.exists(_.trim.toBoolean)
    override def allows(text: String): Boolean = text.trim.toBooleanOption.isDefined
    override def allowed(default: Option[String]): String = "true or false"
  }

  /** One of these texts, in upper or lower case. */
  final case class Choice(texts: String*) extends ConfType[String] {
    private def chosen(text: String): Option[String] = texts.find(_.equalsIgnoreCase(text.trim))
    override def read(text: Option[String]): String = text.flatMap(chosen).getOrElse("")
    override def allows(text: String): Boolean = chosen(text).isDefined
    override def allowed(default: Option[String]): String =
      s"one of ${texts.sorted.mkString(", ")}"
  }

  sealed abstract class Text[A](parsed: Option[String] => A) extends ConfType[A] {
    override def read(text: Option[String]): A = parsed(text)
    override def allows(text: String): Boolean = true
    override def allowed(default: Option[String]): String = "a string"
  }
  case object Str extends Text[Option[String]](identity)
  case object Names
      extends Text[Seq[String]](_.toSeq.flatMap(_.split(',')).map(_.trim).filter(_.nonEmpty))
  case object Predicates extends Text[Seq[String]](_.toSeq.flatMap(SqlList.parts))

  sealed abstract class Number[A](what: String, minimum: Option[String])(implicit a: Numeric[A])
      extends ConfType[A] {

    /** Throws if the text is not a number of this type. */
    protected def number(text: String): A
    override def read(text: Option[String]): A = text.fold(a.zero)(number)
    override def allows(text: String): Boolean =
      Try(number(text)).toOption.exists(n => minimum.forall(m => a.lteq(number(m), n)))
    override def allowed(default: Option[String]): String =
      s"a $what" + minimum.fold("")(m => s" of at least $m")
  }
  final case class Whole(minimum: Option[String]) extends Number[Int]("whole number", minimum) {
    override protected def number(text: String): Int = text.trim.toInt
  }

  /** @param unit
    *   that of a number without one
    */
  sealed abstract class WithUnit(what: String, unit: String, minimum: Option[String])
      extends Number[Long](what, minimum) {
    protected def inUnits(text: String): Long
    override protected def number(text: String): Long = {
      val trimmed = text.trim
      inUnits(if (trimmed.lastOption.exists(_.isDigit)) trimmed + unit else trimmed)
    }
    override def allowed(default: Option[String]): String =
      super.allowed(default) + default.fold("")(d => s", such as $d")
  }

  /** In milliseconds. */
  final case class Time(unit: String, minimum: Option[String])
      extends WithUnit("time", unit, minimum) {
    override protected def inUnits(text: String): Long =
      JavaUtils.timeStringAs(text, TimeUnit.MILLISECONDS)
  }
  final case class Bytes(unit: String, minimum: Option[String])
      extends WithUnit("size", unit, minimum) {
    override protected def inUnits(text: String): Long = JavaUtils.byteStringAsBytes(text)
  }
}
