package io.tamis.formats

import java.lang.reflect.{Constructor, Field, Method}
import java.util.concurrent.ConcurrentHashMap

/** Calls members of classes of table formats, whose jars tamis does not compile against.
  *
  * A member that does not exist raises NoSuchMethodException or NoSuchFieldException, which callers
  * treat as a version of the format that tamis does not know.
  */
private[formats] object Members {
  private val methods = new ConcurrentHashMap[(Class[_], String, Int), Method]
  private val constructors = new ConcurrentHashMap[(Class[_], Int), Constructor[_]]
  private val fields = new ConcurrentHashMap[(Class[_], String), Field]

  /** Calls the method of that name with as many parameters as there are arguments. */
  def call(target: AnyRef, name: String, arguments: AnyRef*): AnyRef =
    method(target.getClass, name, arguments.size).invoke(target, arguments: _*)

  /** The same for methods with a known result. */
  def get[A](target: AnyRef, name: String, arguments: AnyRef*): A =
    call(target, name, arguments: _*).asInstanceOf[A]

  /** Whether a class has a method of that name with as many parameters. */
  def has(c: Class[_], name: String, parameters: Int): Boolean =
    try { method(c, name, parameters); true }
    catch { case _: NoSuchMethodException => false }

  /** The value of a field, whatever its visibility. */
  def field(target: AnyRef, name: String): AnyRef = fields
    .computeIfAbsent(
      target.getClass -> name,
      _ => {
        val found = lineage(target.getClass).flatMap(_.getDeclaredFields).find(_.getName == name)
        val field = found.getOrElse(throw new NoSuchFieldException(missing(target.getClass, name)))
        field.setAccessible(true)
        field
      }
    )
    .get(target)

  /** An instance of a class, made by its constructor with as many parameters, also if it is not
    * public.
    */
  def make(of: Class[_], arguments: AnyRef*): AnyRef = constructors
    .computeIfAbsent(
      (of, arguments.size),
      _ => {
        val all = of.getConstructors.toSeq ++ of.getDeclaredConstructors
        val constructor = all
          .find(_.getParameterCount == arguments.size)
          .getOrElse(throw new NoSuchMethodException(missing(of, "<init>")))
        constructor.setAccessible(true)
        constructor
      }
    )
    .newInstance(arguments: _*)
    .asInstanceOf[AnyRef]

  /** The singleton of a Scala object. */
  def singleton(loader: ClassLoader, name: String): AnyRef =
    Class.forName(s"$name$$", true, loader).getField("MODULE$").get(null)

  /** Calls a static method of that name with as many parameters as there are arguments, and of
    * parameter types that accept them.
    */
  def callStatic(
      loader: ClassLoader,
      className: String,
      name: String,
      arguments: AnyRef*
  ): AnyRef = {
    val candidates = Class.forName(className, true, loader).getMethods.filter { m =>
      m.getName == name && m.getParameterCount == arguments.size &&
      m.getParameterTypes.zip(arguments).forall { case (t, a) => t.isInstance(a) }
    }
    candidates.headOption
      .getOrElse(throw new NoSuchMethodException(s"$className.$name"))
      .invoke(null, arguments: _*)
  }

  /** Public methods come first: those of a class that is not public are found in its interfaces. */
  private def method(of: Class[_], name: String, parameters: Int): Method =
    methods.computeIfAbsent(
      (of, name, parameters),
      _ => {
        val all = of.getMethods.toSeq ++ lineage(of).flatMap(_.getDeclaredMethods)
        val found = all.find(m =>
          m.getName == name && m.getParameterCount == parameters && !m.isBridge && !m.isSynthetic
        )
        val method = found.getOrElse(throw new NoSuchMethodException(missing(of, name)))
        method.setAccessible(true)
        method
      }
    )

  private def lineage(c: Class[_]): Seq[Class[_]] =
    Iterator.iterate[Class[_]](c)(_.getSuperclass).takeWhile(_ != null).toSeq

  private def missing(c: Class[_], name: String): String = s"${c.getName} has no member $name"
}
