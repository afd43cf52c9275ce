package io.tamis.formats

import io.tamis.bridge.AnyFailure

/** Failures at a relation of a table format, most likely because its release is not known. */
object FormatFailure {

  /** The value; after a failure, one warning, and what it was before. */
  def kept[A](before: A)(value: => A): A =
    AnyFailure.warned(
      AnyFailure.keyed("format"),
      "a relation of a table format could not be taken over",
      "Report this error, with the release of the format. The format plans the scan itself."
    )(value)(_ => before)
}
