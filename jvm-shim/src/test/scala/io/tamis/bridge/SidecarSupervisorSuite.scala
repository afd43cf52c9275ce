package io.tamis.bridge

import io.tamis.conf.TamisConf
import java.io.OutputStream
import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermissions
import java.util.concurrent.CompletableFuture

import org.apache.spark.sql.internal.SQLConf

class SidecarSupervisorSuite extends munit.FunSuite {

  /** An interpreter that runs and never reports that it is ready. */
  private lazy val interpreter: String = {
    val file = Files.createTempFile("python", ".sh")
    Files.write(file, "#!/bin/sh\nread line\nexec cat\n".getBytes)
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwx------")).toString
  }

  private val former = SidecarSupervisor.run

  override def beforeEach(context: BeforeEach): Unit = SidecarSupervisor.restart()

  override def afterAll(): Unit = SidecarSupervisor.synchronized {
    SidecarSupervisor.restart()
    SidecarSupervisor.run = former
  }

  /** The confs of an application that was started with these. */
  private def conf(set: (String, String)*): SQLConf = {
    TamisConf.register
    TamisConf.ofApplication((Map("spark.tamis.python" -> interpreter) ++ set).get)
  }

  /** Why the start failed. */
  private def failure(run: SidecarSupervisor.Run): String =
    intercept[Exception](run.future.get()).getCause.getMessage

  test("there is another private directory after something has removed it") {
    val before = SidecarSupervisor.privateDirectory
    assertEquals(SidecarSupervisor.privateDirectory, before)
    Files.list(before).forEach(f => Files.delete(f))
    Files.delete(before)
    val after = SidecarSupervisor.privateDirectory
    assertNotEquals(after, before)
    assertEquals(
      PosixFilePermissions.toString(Files.getPosixFilePermissions(after)),
      "rwx------"
    )
  }

  test("the first start waits as long as spark.tamis.startTimeout says") {
    val run = SidecarSupervisor.warmUp(conf("spark.tamis.startTimeout" -> "1234ms")).get.get()
    assertEquals((run.python, run.startTimeoutMs), (interpreter, 1234L))
    assert(failure(run).contains("was not ready in time. Raise spark.tamis.startTimeout"))
  }

  test("so does the start after the death of a sidecar") {
    val dead =
      new Sidecar(interpreter, DeadProcess, OutputStream.nullOutputStream, null, StubPlanner, 0)
    val first = SidecarSupervisor.Run(interpreter, 321L, CompletableFuture.completedFuture(dead))
    SidecarSupervisor.run = Some(first)
    SidecarSupervisor.failed(Some(dead), "the test killed it", lasting = false)
    val second = SidecarSupervisor.run.get
    assert(second ne first)
    assertEquals((second.python, second.startTimeoutMs), (interpreter, 321L))
    assert(failure(second).contains("was not ready in time"))
  }

  test("an application in the mode Off, in upper or lower case, starts no sidecar") {
    Seq("mode" -> "OFF", "mode" -> "off", "enabled" -> "False").foreach { case (key, value) =>
      assertEquals(SidecarSupervisor.warmUp(conf(s"spark.tamis.$key" -> value)), None, value)
    }
    val observe = Seq("spark.tamis.mode" -> "OBSERVE", "spark.tamis.startTimeout" -> "10ms")
    assertEquals(SidecarSupervisor.warmUp(conf(observe: _*)).get.get().startTimeoutMs, 10L)
  }
}

/** A process that has ended. */
private object DeadProcess extends Process {
  override def getOutputStream: OutputStream = OutputStream.nullOutputStream
  override def getInputStream: java.io.InputStream = java.io.InputStream.nullInputStream
  override def getErrorStream: java.io.InputStream = java.io.InputStream.nullInputStream
  override def waitFor(): Int = 0
  override def exitValue(): Int = 0
  override def destroy(): Unit = ()
}
