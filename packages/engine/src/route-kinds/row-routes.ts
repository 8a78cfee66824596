import type { ManifestComputeRoute, ManifestRowRoute, ManifestService } from "@appdb/contract/manifest";
import { answerError, JSON_HEADERS } from "../answers/answers.ts";
import type { Row, RowLayout } from "../compute/row-layout.ts";
import type { KeptAnswer, Once } from "../idempotency/request-store.ts";
import { cellErrorHeaders } from "../routes/cell-error-header.ts";
import { readIdempotencyKey } from "../routes/idempotency-key.ts";
import { compileMadeRows } from "../routes/made-rows-answer.ts";
import { minimalAnswer, wantsMinimal } from "../routes/minimal-answer.ts";
import { compileAnswer } from "../routes/render-outputs.ts";
import type { CompiledRoute, RouteRequest } from "../routes/route.ts";
import type { RouteContext } from "../routes/route-context.ts";
import { compileExport } from "../routes/sql-export.ts";
import { givenInRows, requiring } from "../rows/given-media.ts";
import { compileRowReader } from "../rows/validate-row.ts";
import type { RowRunner } from "../write/new-rows.ts";
import { ComputeMany, type ComputeManyInput } from "./compute-many.ts";
import { acceptsManyRows, InsertMany, type InsertManyInput, LINES_TYPES } from "./insert-many.ts";
import { readBy } from "./over-row.ts";
import { compileForms, FORM_TYPE, isForm, receiveLater, rowFields } from "./request-form.ts";

type ReadRow = () => Row | Promise<Row>;

const NO_BODY = { text: "", placeholders: null } as const;

/** Compiles a route that takes a row and returns values of it. An insert stores the row; a compute does not. */
export function compileRowRoute(
  context: RouteContext,
  service: ManifestService,
  route: ManifestRowRoute,
): CompiledRoute {
  const { layout } = context.layout(route.table);
  const given = givenInRows(layout, context.deps.media);
  const { checks, generators } = context;
  const readFor = requiring(
    compileRowReader(layout, route.inputs, checks, generators, neededOf(context, route)),
    given,
  );
  const render = compileAnswer(layout, route);
  const runner = runnerOf(context, route);
  const { log } = context.deps;
  const { on_error: onError } = route;
  const headersOf = onError === "ignore" ? cellErrorHeaders(layout) : () => JSON_HEADERS;
  const path = service.prefix + route.path;
  const routeText = `${context.input.target} ${service.name} POST ${path}`;
  const exported = compileExport(context.deps.connectExport, layout, route);
  if (exported !== null) context.exports.push(exported);
  const isMinimal = (request: RouteRequest): boolean => route.kind === "insert" && wantsMinimal(request);
  const isLeftOut = leftOut(layout, route);
  const made = route.kind === "compute" ? route.of_view?.made : undefined;
  const madeRows = made === undefined ? undefined : compileMadeRows(context, layout, { path }, made);
  const answerOf = (request: RouteRequest, row: Row): KeptAnswer => {
    if (isLeftOut(row)) return { status: 200, headers: JSON_HEADERS, body: "null" };
    const headers = headersOf(row);
    return isMinimal(request) ? minimalAnswer({ headers }) : { status: 200, headers, body: render.text(row) };
  };
  const runOnce = async (request: RouteRequest, once: Once, readRow: ReadRow): Promise<KeptAnswer> => {
    let stored: Row | undefined;
    const answered = await context.once.run(once, runner.uses_python, async () => {
      const row = await readRow();
      const respond = (unknown: readonly number[]) => {
        const headers = headersOf(row);
        if (isMinimal(request)) return { ...minimalAnswer({ headers }), body: NO_BODY };
        return { status: 200, headers, body: render.template(row, unknown) };
      };
      const { signal, timing } = request;
      await runner.run({ row, onError, request: { ...once, respond }, signal, timing });
      stored = row;
      return answerOf(request, row);
    });
    // Not for a replayed request, and outside of `once`, which treats an error as "nothing was stored".
    if (stored !== undefined) await exported?.write(stored);
    return answered;
  };
  const run = async (request: RouteRequest, row: Row): Promise<KeptAnswer> => {
    const { signal, timing } = request;
    await runner.run({ row, onError, request: undefined, signal, timing });
    if (exported !== null) await exported.write(row);
    if (madeRows !== undefined) {
      const rows: string[] = [];
      using held = context.computes.madeRows();
      for await (const texts of madeRows(row, onError, signal)) {
        held.add(texts);
        for (const text of texts) rows.push(text);
      }
      return { status: 200, headers: headersOf(row), body: `[${rows.join(",")}]` };
    }
    return answerOf(request, row);
  };
  const receive = compileForms(context, {
    uploads: route.uploads,
    fieldOf: rowFields(layout),
    isKept: (name) => route.kind === "insert" || route.outputs.some((output) => sourceOf(layout, output) === name),
  });
  const runForm = async (request: RouteRequest, receiveForm: NonNullable<typeof receive>): Promise<KeptAnswer> => {
    await using form = await receiveForm(request);
    const asked = { ...request, body: form.content };
    const readRow = async () => {
      const row = readFor(request.caller)(await form.body());
      return (await given?.take(row)) ?? row;
    };
    const once = route.kind === "insert" ? readIdempotencyKey(asked, routeText) : undefined;
    return once === undefined ? await run(request, await readRow()) : await runOnce(asked, once, readRow);
  };
  const many = manyRowsOf(context, {
    route,
    layout,
    readFor,
    given,
    render: render.text,
    routeText,
    isLeftOut,
    madeRows,
  });
  return {
    service: service.name,
    method: "POST",
    path,
    streams: [...(many === undefined ? [] : LINES_TYPES), ...(receive === undefined ? [] : [FORM_TYPE])],
    takes_columns: many !== undefined,
    uses_python: runner.uses_python,
    takes_signal: runner.uses_python,
    check: (request) =>
      many?.accepts(request) === true ? many.check(request) : void readFor(request.caller)(request.body),
    receiveForm: receiveLater(receive, (form, { caller }) => readFor(caller)(form)),
    async handle(request) {
      try {
        if (receive !== undefined && isForm(request)) return await runForm(request, receive);
        if (many?.accepts(request) === true) return await many.run(request);
        const once = route.kind === "insert" ? readIdempotencyKey(request, routeText) : undefined;
        const read = readFor(request.caller);
        const readRow = () => (given === undefined ? read(request.body) : given.take(read(request.body)));
        if (once !== undefined) return await runOnce(request, once, readRow);
        const row = readRow();
        // a row without media takes no turn of the event loop
        return await run(request, row instanceof Promise ? await row : row);
      } catch (error) {
        return answerError(error, request.id, log, request.signal);
      }
    },
  };
}

function manyRowsOf(
  context: RouteContext,
  input: InsertManyInput & Omit<ComputeManyInput, "outputs">,
): InsertMany | ComputeMany | undefined {
  const { route } = input;
  if (acceptsManyRows(route)) return new InsertMany(context, input);
  if (route.kind === "insert" || route.many_rows !== true) return undefined;
  return new ComputeMany(context, { ...input, outputs: computedOutputs(route) });
}

/** The columns that a compute route computes. */
function computedOutputs({ of_view: view, outputs }: ManifestComputeRoute): readonly string[] {
  return view?.member == null ? outputs : [...outputs, view.member];
}

/** The columns that a row must have; undefined: all of the route. */
function neededOf({ input: { manifest } }: RouteContext, route: ManifestRowRoute): ReadonlySet<string> | undefined {
  if (route.kind === "insert" || route.many_rows !== true) return undefined;
  const table = manifest.tables.find(({ name }) => name === route.table);
  return table === undefined ? undefined : readBy(table, computedOutputs(route));
}

/** Whether a computed row is not one of the route's view. */
function leftOut({ index }: RowLayout, route: ManifestRowRoute): (row: Row) => boolean {
  const member = route.kind === "compute" ? route.of_view?.member : undefined;
  if (member == null) return () => false;
  const at = index.get(member) ?? -1;
  return (row) => row[at] !== true;
}

/** The column that another one repeats, as `shown = picture.fileurl` does. */
function sourceOf(layout: RowLayout, name: string): string {
  const expr = layout.whole.columns.find((column) => column.name === name)?.computed?.expr;
  return expr?.node === "column" ? sourceOf(layout, expr.name) : name;
}

/** The runner of a row: it stores or only computes. The table or a function makes the response. */
function runnerOf(context: RouteContext, route: ManifestRowRoute): RowRunner {
  const rows = route.kind === "insert" ? context.inserter(route).rows : null;
  if (route.handler !== null) return context.answeredRows(route.table, route.handler, rows);
  if (rows !== null) return rows;
  return context.computer(route.table, route.kind === "compute" ? computedOutputs(route) : route.outputs);
}
