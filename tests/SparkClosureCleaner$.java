package org.apache.spark.util;

/**
 * The cleaner of closures of Spark 4.1, without its work. For tests only.
 *
 * <p>For each step of each job, Spark reads the class file of the closure from a jar in search of
 * `return`, and serializes the closure to report early that it cannot be serialized. A task that is
 * sent reports that anyway. Only closures of Scala's shell are changed.
 */
public final class SparkClosureCleaner$ {
  public static final SparkClosureCleaner$ MODULE$ = new SparkClosureCleaner$();

  private SparkClosureCleaner$() {}

  public void clean(Object closure, boolean checkSerializable, boolean cleanTransitively) {}

  public boolean clean$default$2() {
    return true;
  }

  public boolean clean$default$3() {
    return true;
  }
}
