package io.tamis.conf;

import java.util.function.Predicate;
import org.apache.spark.internal.config.ConfigBuilder;
import org.apache.spark.internal.config.TypedConfigBuilder;
import org.apache.spark.sql.internal.SQLConf$;
import scala.Function1;

/**
 * Registers one conf entry with Spark, so that SET checks the value and names what is allowed.
 *
 * <p>Java, because ConfigBuilder is private to Spark's packages in Scala only. Seen to hold on 4.0 to
 * 4.3.
 */
final class ConfEntries {
  private ConfEntries() {}

  static void register(
      String key, String type, String defaultText, String doc, String since, Predicate<Object> allowed, String requirement) {
    if (SQLConf$.MODULE$.getConfigEntry(key) != null) return;
    ConfigBuilder builder = SQLConf$.MODULE$.buildConf(key).doc(doc).version(since);
    switch (type) {
      case "boolean" -> create(builder.booleanConf(), defaultText == null ? null : Boolean.valueOf(defaultText));
      case "int" -> create(check(builder.intConf(), allowed, requirement), defaultText == null ? null : Integer.valueOf(defaultText));
      case "long" -> create(check(builder.longConf(), allowed, requirement), defaultText == null ? null : Long.valueOf(defaultText));
      default -> {
        TypedConfigBuilder<String> text = builder.stringConf();
        text = text.checkValue(value -> allowed.test(value), requirement);
        if (defaultText == null) text.createOptional();
        else text.createWithDefault(defaultText);
      }
    }
  }

  private static TypedConfigBuilder<Object> check(
      TypedConfigBuilder<Object> builder, Predicate<Object> allowed, String requirement) {
    Function1<Object, Object> test = value -> allowed.test(value);
    return builder.checkValue(test, requirement);
  }

  private static void create(TypedConfigBuilder<Object> builder, Object defaultValue) {
    if (defaultValue == null) builder.createOptional();
    else builder.createWithDefault(defaultValue);
  }
}
