package io.tamis.conf;

import java.util.function.Predicate;
import org.apache.spark.internal.config.ConfigBuilder;
import org.apache.spark.internal.config.TypedConfigBuilder;
import org.apache.spark.sql.internal.SQLConf$;
import scala.Function1;

/**
 * Registers one key of a conf with Spark, so that SET checks the value and names what is allowed.
 *
 * <p>Written in Java: Scala's private[spark] makes ConfigBuilder inaccessible to Scala code outside
 * of Spark, but it is public in the bytecode (checked on 4.0 to 4.3).
 */
final class ConfEntries {
  private ConfEntries() {}

  /** What Spark itself requires of a value. */
  enum Check { BOOLEAN, INT, TEXT }

  /**
   * @param alternatives other keys that Spark reads if this one is not set
   * @param isHidden whether SET -v leaves it out
   * @param allowed whether a text is allowed. A text, because Spark's own check of a time or of a
   *     size does not name the conf.
   */
  static void register(
      String key,
      Check type,
      String defaultText,
      String doc,
      String since,
      String[] alternatives,
      boolean isHidden,
      Predicate<String> allowed,
      String requirement) {
    if (SQLConf$.MODULE$.getConfigEntry(key) != null) return;
    ConfigBuilder builder = SQLConf$.MODULE$.buildConf(key).doc(doc).version(since);
    for (String alternative : alternatives) builder.withAlternative(alternative);
    if (isHidden) builder.internal();
    switch (type) {
      case BOOLEAN -> create(builder.booleanConf(), defaultText == null ? null : Boolean.valueOf(defaultText));
      case INT -> create(check(builder.intConf(), allowed, requirement), defaultText == null ? null : Integer.valueOf(defaultText));
      case TEXT -> {
        TypedConfigBuilder<String> text = builder.stringConf();
        text = text.checkValue(value -> allowed.test(value), requirement);
        if (defaultText == null) text.createOptional();
        else text.createWithDefault(defaultText);
      }
    }
  }

  private static TypedConfigBuilder<Object> check(
      TypedConfigBuilder<Object> builder, Predicate<String> allowed, String requirement) {
    Function1<Object, Object> test = value -> allowed.test(value.toString());
    return builder.checkValue(test, requirement);
  }

  private static void create(TypedConfigBuilder<Object> builder, Object defaultValue) {
    if (defaultValue == null) builder.createOptional();
    else builder.createWithDefault(defaultValue);
  }
}
