// What the published TypeScript client gets from a worker over HTTP:
// node vgi_typescript.mjs URL FILTERS. FILTERS is a filter document in base64, for scan('t').
import { Arguments, VgiClient, deserializeBatch } from "@query-farm/vgi/client";
import { httpConnect } from "@query-farm/vgi-rpc/connect";

const client = new VgiClient(httpConnect(process.argv[2], { prefix: "" }));
const catalogs = await client.catalogs();
const attached = await client.catalogAttach("tamis");
const data = attached.attach_opaque_data;
const tables = (await client.schemaContentsTables(data, "main")).map((each) => each.name);
const functions = await client.schemaContentsFunctions(data, "main", "table_function");

async function rowsOf(functionName, positional, options = {}) {
  const rows = [];
  const call = { functionName, arguments: new Arguments(positional), attachOpaqueData: data };
  for await (const batch of client.tableFunctionRows({ ...call, ...options })) rows.push(...batch);
  return rows;
}

const echo = await rowsOf("filter_echo", [2500n], { projectionIds: [0, 1] });
const files = await rowsOf("files", ["t"]);
const scanned = await rowsOf("scan", ["t"], { projectionIds: [0] });
const pushdownFilters = deserializeBatch(Buffer.from(process.argv[3], "base64"));
const filtered = await rowsOf("scan", ["t"], { projectionIds: [0, 1], pushdownFilters });
console.log(
  JSON.stringify({
    catalogs,
    tables,
    functions: functions.map((each) => [each.name, each.filter_pushdown]),
    echo: echo.length,
    last: [Number(echo.at(-1).n), echo.at(-1).s],
    files: files.map((each) => [each.path.split("/").slice(-2).join("/"), Number(each.rows)]),
    scanned: scanned.map((each) => Number(each.n)).sort((a, b) => a - b),
    filtered: filtered.map((each) => [Number(each.n), each.s]),
  }),
);
