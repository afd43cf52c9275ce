"""An Iceberg REST catalog over HTTP, which runs in the process of `Statements`.

Iceberg's own handlers (`CatalogHandlers`) answer the requests, over a JDBC catalog with SQLite. As a
catalog may, it asks clients to plan the tables whose names begin with `planned` on the server.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

__all__ = ["requested", "start"]

_STATUS = {
    "AlreadyExistsException": 409,
    "CommitFailedException": 409,
    "IllegalArgumentException": 400,
    "NoSuchNamespaceException": 404,
    "NoSuchTableException": 404,
    "NoSuchPlanIdException": 404,
    "NoSuchPlanTaskException": 404,
    "ValidationException": 400,
}
_NAMESPACES = "/v1/{prefix}/namespaces"
_TABLE = f"{_NAMESPACES}/{{namespace}}/tables/{{table}}"
_ENDPOINTS = [
    f"GET {_NAMESPACES}",
    f"POST {_NAMESPACES}",
    f"GET {_NAMESPACES}/{{namespace}}",
    f"GET {_NAMESPACES}/{{namespace}}/tables",
    f"POST {_NAMESPACES}/{{namespace}}/tables",
    f"GET {_TABLE}",
    f"POST {_TABLE}",
    f"DELETE {_TABLE}",
    f"POST {_TABLE}/metrics",
    f"POST {_TABLE}/plan",
    f"GET {_TABLE}/plan/{{plan-id}}",
    f"DELETE {_TABLE}/plan/{{plan-id}}",
    f"POST {_TABLE}/tasks",
]
#: How many requests were answered, by method and the last fixed part of the path.
_counts: Counter[str] = Counter()


class _Catalog:
    """Answers requests by Iceberg's handlers."""

    def __init__(self, spark: SparkSession, uri: str, warehouse: str) -> None:
        self._jvm: Any = spark._jvm
        self._rest = self._jvm.org.apache.iceberg.rest
        self._catalog = self._jvm.org.apache.iceberg.jdbc.JdbcCatalog()
        self._catalog.setConf(spark.sparkContext._jsc.hadoopConfiguration())
        properties = {
            "uri": uri,
            "warehouse": warehouse,
            "io-impl": "org.apache.iceberg.hadoop.HadoopFileIO",
        }
        self._catalog.initialize("served", properties)
        self._mapper = self._mapper_of(spark)
        self._is_asynchronous, self._tasks_each = self._planning(spark)

    def _class(self, name: str) -> Any:
        loader = self._catalog.getClass().getClassLoader()
        return self._jvm.java.lang.Class.forName(name, True, loader)

    def _mapper_of(self, spark: SparkSession) -> Any:
        none = spark.sparkContext._gateway.new_array(self._jvm.java.lang.Class, 0)
        method = self._class("org.apache.iceberg.rest.RESTObjectMapper").getDeclaredMethod(
            "mapper", none
        )
        method.setAccessible(True)
        return method.invoke(None, spark.sparkContext._gateway.new_array(self._jvm.Object, 0))

    def _planning(self, spark: SparkSession) -> tuple[Any, Any]:
        """Return functions of Java: never plan later, and 2 tasks in each part of a plan."""
        handles = self._jvm.java.lang.invoke
        of_object = spark.sparkContext._gateway.new_array(self._jvm.java.lang.Class, 1)
        of_object[0] = self._class("java.lang.Object")
        two = handles.MethodHandles.constant(self._jvm.java.lang.Integer.TYPE, 2)
        two = handles.MethodHandles.dropArguments(two, 0, of_object)
        function = self._class("java.util.function.ToIntFunction")
        never = self._jvm.java.util.function.Predicate.isEqual("nothing")
        return never, handles.MethodHandleProxies.asInterfaceInstance(function, two)

    def _read(self, body: str, name: str) -> Any:
        return self._mapper.readValue(
            body, self._class(f"org.apache.iceberg.rest.requests.{name}Request")
        )

    def answer(self, method: str, path: list[str], body: str) -> Any:
        """Return the body of the answer, None if it has none.

        Raises:
            LookupError: The server does not have such a path.
            Py4JJavaError: The catalog refuses the request.
        """
        handlers, catalog = self._rest.CatalogHandlers, self._catalog
        names = self._jvm.org.apache.iceberg.catalog
        if path == ["config"]:
            return {"defaults": {}, "overrides": {}, "endpoints": _ENDPOINTS}
        namespace = names.TableIdentifier.parse(f"{path[1]}.any").namespace() if path[1:] else None
        table = names.TableIdentifier.of(namespace, path[3]) if path[3:] else None
        routes: dict[tuple[str, str], Callable[[], Any]] = {
            ("GET", "namespaces"): lambda: handlers.listNamespaces(
                catalog, names.Namespace.empty()
            ),
            ("POST", "namespaces"): lambda: handlers.createNamespace(
                catalog, self._read(body, "CreateNamespace")
            ),
            ("GET", "namespaces/*"): lambda: handlers.loadNamespace(catalog, namespace),
            ("GET", "namespaces/*/tables"): lambda: handlers.listTables(catalog, namespace),
            ("POST", "namespaces/*/tables"): lambda: self._created(namespace, body),
            ("GET", "namespaces/*/tables/*"): lambda: handlers.loadTable(
                catalog, table, getattr(self._rest, "RESTCatalogProperties$SnapshotMode").ALL
            ),
            ("POST", "namespaces/*/tables/*"): lambda: handlers.updateTable(
                catalog, table, self._read(body, "UpdateTable")
            ),
            ("DELETE", "namespaces/*/tables/*"): lambda: handlers.purgeTable(catalog, table),
            ("POST", "namespaces/*/tables/*/metrics"): lambda: None,
            ("POST", "namespaces/*/tables/*/plan"): lambda: handlers.planTableScan(
                catalog,
                table,
                self._read(body, "PlanTableScan"),
                self._is_asynchronous,
                self._tasks_each,
            ),
            ("GET", "namespaces/*/tables/*/plan/*"): lambda: handlers.fetchPlanningResult(
                catalog, table, path[5]
            ),
            ("DELETE", "namespaces/*/tables/*/plan/*"): lambda: handlers.cancelPlanTableScan(
                path[5]
            ),
            ("POST", "namespaces/*/tables/*/tasks"): lambda: handlers.fetchScanTasks(
                catalog, table, self._read(body, "FetchScanTasks")
            ),
        }
        pattern = "/".join(part if n % 2 == 0 else "*" for n, part in enumerate(path))
        response = routes[method, pattern]()
        _counts[f"{method} {path[-1] if len(path) % 2 else pattern}"] += 1
        if response is None:
            return None
        document = json.loads(self._mapper.writeValueAsString(response))
        if "/planned" in document.get("metadata", {}).get("location", ""):
            document.setdefault("config", {})["scan-planning-mode"] = "server"
        return document

    def _created(self, namespace: Any, body: str) -> Any:
        request = self._read(body, "CreateTable")
        handlers = self._rest.CatalogHandlers
        create = handlers.stageTableCreate if request.stageCreate() else handlers.createTable
        return create(self._catalog, namespace, request)


def _error(problem: Exception) -> tuple[int, str]:
    """Return the status and the type of an error."""
    if isinstance(problem, Py4JJavaError):
        kind = str(problem.java_exception.getClass().getSimpleName())
        return _STATUS.get(kind, 500), kind
    return (404, "NotFound") if isinstance(problem, LookupError) else (500, "Failure")


def _handler(catalog: _Catalog) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            path = [unquote(part) for part in urlsplit(self.path).path.split("/")[2:]]
            try:
                status, document = 200, catalog.answer(self.command, path, body)
            except Exception as problem:
                status, kind = _error(problem)
                error = {"message": f"{problem}"[:2000], "type": kind, "code": status}
                document = {"error": error}
            content = b"" if document is None else json.dumps(document).encode()
            self.send_response(status if content else 204)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_DELETE = _serve  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def start(spark: SparkSession, uri: str, warehouse: str) -> int:
    """Serve the catalog, and make it the catalog `rest` of the session. Return its port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(_Catalog(spark, uri, warehouse)))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port: int = server.server_address[1]
    spark.conf.set("spark.sql.catalog.rest", "org.apache.iceberg.spark.SparkCatalog")
    spark.conf.set("spark.sql.catalog.rest.type", "rest")
    spark.conf.set("spark.sql.catalog.rest.uri", f"http://127.0.0.1:{port}")
    return port


def requested(_: SparkSession, request: str) -> int:
    """Return how many requests of a kind were answered, such as `POST plan`."""
    return _counts[request]
