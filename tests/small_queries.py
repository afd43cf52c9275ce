"""Settings of sessions that run many small queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from py4j.java_gateway import JavaClass, JavaPackage, JVMView

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["save_work"]


def save_work(spark: SparkSession) -> None:
    """Avoid work that takes longer than the rows of small queries."""
    context = spark.sparkContext._jsc.sc()
    _leave_out_defaults_of_hadoop(spark, context)
    # A job records the call stack that started it unless a call site is set.
    context.setLocalProperty("callSite.short", "test")
    context.setLocalProperty("callSite.long", "test")
    _plan_with_the_class_loader_of_tasks(spark)
    _remember_java_names()


def _leave_out_defaults_of_hadoop(spark: SparkSession, context: Any) -> None:
    """Keep what the confs of the session state of Hadoop's configuration.

    Each scan copies the configuration, once and for each file. It has 1,500 defaults, which the code
    contains anyway. Removed from a configuration, they leave their sources, and come back with the
    first class that has others.
    """
    hadoop, prefix = spark._jvm.org.apache.hadoop.conf.Configuration(False), "spark.hadoop."
    for name, value in spark.sparkContext.getConf().getAll():
        if name.startswith(prefix):
            hadoop.set(name.removeprefix(prefix), value)
    (field,) = (
        each
        for each in context.getClass().getDeclaredFields()
        if each.getName() == "_hadoopConfiguration"
    )
    field.setAccessible(True)
    field.set(context, hadoop)


def _plan_with_the_class_loader_of_tasks(spark: SparkSession) -> None:
    """Let this thread and the tasks of a local Spark share generated code.

    Spark keeps compiled code by class loader, and tasks have one of their own, so that a driver
    that runs its own tasks compiles everything twice. The loader of the tasks is a child of the
    driver's and asks it first, so every class remains the same.
    """
    thread = spark._jvm.java.lang.Thread
    spark.range(1).collect()  # a thread that has run a task keeps its class loader
    (worker, *_) = (
        each
        for each in thread.getAllStackTraces().keySet()
        if each.getName().startswith("Executor task launch worker")
    )
    thread.currentThread().setContextClassLoader(worker.getContextClassLoader())


def _remember_java_names() -> None:
    """Ask the JVM once whether a name such as `java.util` is a package or a class.

    For a package, the JVM searches each of Spark's 300 jars for a class of this name.
    """
    for kind in (JavaPackage, JVMView):
        if not hasattr(kind.__getattr__, "remembers"):
            kind.__getattr__ = _remembering(kind.__getattr__)


def _remembering(look_up: Any) -> Any:
    def looked_up(self: Any, name: str) -> Any:
        found = look_up(self, name)
        # a later import can make a class of a name in upper case
        if isinstance(found, JavaClass) or (isinstance(found, JavaPackage) and name.islower()):
            self.__dict__[name] = found
        return found

    looked_up.remembers = True  # type: ignore[attr-defined]
    return looked_up
