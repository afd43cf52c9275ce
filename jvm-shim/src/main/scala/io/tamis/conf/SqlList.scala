package io.tamis.conf

/** A list of SQL expressions in a conf. */
private[conf] object SqlList {

  /** Returns the expressions, split at commas outside of brackets and quotes: `x IN (1, 2), y` has
    * two parts. A semicolon separates as well.
    */
  def parts(text: String): Seq[String] = {
    val parts = Seq.newBuilder[String]
    var (start, depth, i) = (0, 0, 0)
    var quote: Option[Char] = None
    while (i < text.length) {
      val c = text.charAt(i)
      quote match {
        case Some('`') if c == '\\' => () // an ordinary character in a name
        case Some(_) if c == '\\'   => i += 1 // the next character is escaped
        case Some(open)             => if (c == open) quote = None // a doubled quote opens again
        case None                   =>
          if ("'\"`".contains(c)) quote = Some(c)
          else if ("([{".contains(c)) depth += 1
          else if (")]}".contains(c)) depth -= 1
          else if (depth <= 0 && ",;".contains(c)) {
            parts += text.substring(start, i)
            start = i + 1
          }
      }
      i += 1
    }
    parts += text.substring(start)
    parts.result().map(_.trim).filter(_.nonEmpty)
  }
}
