import type { ManifestService, ManifestUpdateRoute } from "@appdb/contract/manifest";
import type { RequestCaller } from "@appdb/contract/worker-protocol";
import { answerError, JSON_HEADERS } from "../answers/answers.ts";
import type { Row } from "../compute/row-layout.ts";
import type { IdempotentRequest, KeptAnswer, Once } from "../idempotency/request-store.ts";
import { BODY, PYTHON, WRITE } from "../openapi/errors.ts";
import { objectSchema } from "../openapi/schemas.ts";
import { cellErrorHeaders } from "../routes/cell-error-header.ts";
import { readIdempotencyKey } from "../routes/idempotency-key.ts";
import { minimalAnswer, wantsMinimal } from "../routes/minimal-answer.ts";
import { compileAnswer } from "../routes/render-outputs.ts";
import type { CompiledRoute, RouteRequest } from "../routes/route.ts";
import type { RouteContext } from "../routes/route-context.ts";
import { compileExport } from "../routes/sql-export.ts";
import { givenInRows, requiring } from "../rows/given-media.ts";
import { compileChangeReader, type RowChange } from "../rows/validate-row.ts";
import { checkedTable, checkRow, describeOverTable, OVER_ROW, readBy, tableParts } from "./over-row.ts";
import { compileForms, FORM_TYPE, isForm, receiveLater, rowFields } from "./request-form.ts";
import type { RouteKind } from "./route-kind.ts";
import { describeRowRoute, requiredBody, tableOf } from "./row-openapi.ts";

/** Changes the row of a key. Omitted fields keep their values. */
export const updateKind: RouteKind<ManifestUpdateRoute> = {
  ...OVER_ROW,
  title: "an update",
  check(route, manifest, refuse) {
    const table = checkedTable(manifest, route.table, refuse);
    checkRow(table, route, refuse);
    if (table.primary_key.length === 0) refuse(`Table ${table.name} has no primary key.`);
    if (table.primary_key.join() !== route.key.join()) {
      refuse(`The route's key is (${route.key.join(", ")}), but the table's is (${table.primary_key.join(", ")}).`);
    }
    const read = readBy(table, table.primary_key);
    for (const name of route.inputs) {
      if (read.has(name)) refuse(`The primary key contains or is computed from ${name}, which cannot be an input.`);
    }
  },
  compile: compileUpdateRoute,
  describe: ({ table, key, inputs, outputs }) => describeOverTable(table, [...key, ...inputs], outputs),
  openapi(route, input) {
    const { columns } = tableOf(input.manifest, route.table);
    const key = objectSchema(columns, route.key, "key");
    const { properties } = objectSchema(columns, route.inputs, "change");
    const change = { ...key, properties: { ...key.properties, ...properties } };
    return describeRowRoute(route, input, {
      summary: `Update a row of ${route.table}`,
      done: "The row was updated.",
      row: change,
      body: requiredBody(change),
      errors: [...BODY, ...WRITE, ...PYTHON, "row_not_found", "disk_full"],
      isStored: true,
    });
  },
  overTable(table) {
    const { place: route, answer, key, stored } = tableParts(table);
    const inputs = stored.filter((column) => !key.includes(column));
    if (key.length === 0 || inputs.length === 0) return undefined;
    return { kind: "update", key, inputs, ...route, ...answer };
  },
};

type ReadChange = () => RowChange | Promise<RowChange>;

function compileUpdateRoute(
  context: RouteContext,
  service: ManifestService,
  route: ManifestUpdateRoute,
): CompiledRoute {
  const { layout } = context.layout(route.table);
  const updater = context.updater(route);
  const given = givenInRows(layout, context.deps.media);
  const changed = given && {
    require: ({ row }: RowChange, caller: RequestCaller | undefined) => given.require(row, caller),
  };
  const readFor = requiring(compileChangeReader(layout, route, context.checks), changed);
  const taken = async (change: RowChange): Promise<RowChange> => {
    await given?.take(change.row);
    return change;
  };
  const render = compileAnswer(layout, route);
  const { log } = context.deps;
  const { on_error: onError } = route;
  const exported = compileExport(context.deps.connectExport, layout, route);
  if (exported !== null) context.exports.push(exported);
  const headersOf = onError === "ignore" ? cellErrorHeaders(layout) : () => JSON_HEADERS;
  const usesPython = route.handler !== null || updater.usesPython(route.inputs);
  const path = service.prefix + route.path;
  const routeText = `${context.input.target} ${service.name} POST ${path}`;
  const answerOf = (request: RouteRequest, row: Row): KeptAnswer => {
    const headers = headersOf(row);
    return wantsMinimal(request) ? minimalAnswer({ headers }) : { status: 200, headers, body: render.text(row) };
  };
  const run = (change: RowChange, { signal, timing }: RouteRequest, request?: IdempotentRequest): Promise<void> =>
    updater.run({ ...change, onError, answerer: route.handler, request, signal, timing });
  const runOnce = async (request: RouteRequest, once: Once, readChange: ReadChange): Promise<KeptAnswer> => {
    let stored: Row | undefined;
    const answered = await context.once.run(once, usesPython, async () => {
      const change = await readChange();
      const { row } = change;
      await run(change, request, { ...once, respond: () => answerOf(request, row) });
      stored = row;
      return answerOf(request, row);
    });
    // Not for a replayed request, and outside of `once`, which treats an error as "nothing was stored".
    if (stored !== undefined) await exported?.write(stored);
    return answered;
  };
  const runNow = async (request: RouteRequest, change: RowChange): Promise<KeptAnswer> => {
    await run(change, request);
    if (exported !== null) await exported.write(change.row);
    return answerOf(request, change.row);
  };
  const receive = compileForms(context, {
    uploads: route.uploads,
    fieldOf: rowFields(layout),
    isKept: () => true,
  });
  const runForm = async (request: RouteRequest, receiveForm: NonNullable<typeof receive>): Promise<KeptAnswer> => {
    await using form = await receiveForm(request);
    const asked = { ...request, body: form.content };
    const readChange = async () => taken(readFor(request.caller)(await form.body()));
    const once = readIdempotencyKey(asked, routeText);
    return once === undefined ? await runNow(request, await readChange()) : await runOnce(asked, once, readChange);
  };
  return {
    service: service.name,
    method: "POST",
    path,
    streams: receive === undefined ? [] : [FORM_TYPE],
    uses_python: usesPython,
    takes_signal: usesPython,
    check: (request) => void readFor(request.caller)(request.body),
    receiveForm: receiveLater(receive, (form, { caller }) => readFor(caller)(form)),
    async handle(request) {
      try {
        if (receive !== undefined && isForm(request)) return await runForm(request, receive);
        const once = readIdempotencyKey(request, routeText);
        const read = readFor(request.caller);
        const readChange = () => (given === undefined ? read(request.body) : taken(read(request.body)));
        if (once !== undefined) return await runOnce(request, once, readChange);
        const change = readChange();
        return await runNow(request, change instanceof Promise ? await change : change);
      } catch (error) {
        return answerError(error, request.id, log, request.signal);
      }
    },
  };
}
