package io.tamis.formats.iceberg

import java.lang.reflect.{InvocationHandler, InvocationTargetException, Method, Proxy}

/** An object of Iceberg's, except for what a function changes of the results of its methods.
  *
  * @param changed
  *   given the name of a method and its result
  */
private[iceberg] final class Altered private (
    private val target: AnyRef,
    changed: (String, AnyRef) => AnyRef
) extends InvocationHandler {

  override def invoke(self: Any, method: Method, arguments: Array[AnyRef]): AnyRef = {
    val result =
      try method.invoke(target, Option(arguments).getOrElse(Array.empty[AnyRef]): _*)
      catch { case e: InvocationTargetException => throw e.getCause }
    // such as asFileScanTask of a task
    if (result eq target) self.asInstanceOf[AnyRef] else changed(method.getName, result)
  }
}

private[iceberg] object Altered {

  /** @param interfaces
    *   the names of those that the result has; they are all that Iceberg uses of the object
    */
  def apply(loader: ClassLoader, interfaces: Seq[String], target: AnyRef)(
      changed: (String, AnyRef) => AnyRef
  ): AnyRef = {
    val classes = interfaces.map(Class.forName(_, true, loader)).toArray
    Proxy.newProxyInstance(loader, classes, new Altered(target, changed))
  }

  /** The object itself, if it was altered. */
  def original(of: AnyRef): AnyRef =
    if (!Proxy.isProxyClass(of.getClass)) of
    else
      Proxy.getInvocationHandler(of) match {
        case altered: Altered => altered.target
        case _                => of
      }
}
