// What the published TypeScript client gets from a worker over HTTP.
import { Arguments, VgiClient } from "@query-farm/vgi/client";
import { httpConnect } from "@query-farm/vgi-rpc/connect";

const client = new VgiClient(httpConnect(process.argv[2], { prefix: "" }));
const catalogs = await client.catalogs();
const attached = await client.catalogAttach("tamis");
const data = attached.attach_opaque_data;
const tables = (await client.schemaContentsTables(data, "main")).map((each) => each.name);
const functions = await client.schemaContentsFunctions(data, "main", "table_function");
const rows = [];
const call = {
  functionName: "filter_echo",
  arguments: new Arguments([2500n]),
  attachOpaqueData: data,
  projectionIds: [0, 1],
};
for await (const batch of client.tableFunctionRows(call)) rows.push(...batch);
console.log(
  JSON.stringify({
    catalogs,
    tables,
    functions: functions.map((each) => [each.name, each.filter_pushdown]),
    rows: rows.length,
    last: [Number(rows.at(-1).n), rows.at(-1).s],
  }),
);
