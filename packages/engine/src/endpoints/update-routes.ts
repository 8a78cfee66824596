import type { ManifestService, ManifestUpdateRoute } from "@appdb/contract/manifest";
import { readOnce } from "../once/idempotency-key.ts";
import { type KeptAnswer, keepWith, type Once, wholeAnswer } from "../once/request-store.ts";
import type { Row } from "../rows/row-layout.ts";
import { compileChangeReader } from "../rows/validate-row.ts";
import { answerError, JSON_HEADERS } from "./answers.ts";
import { cellErrorHeaders } from "./cell-error-header.ts";
import { minimalAnswer, wantsMinimal } from "./minimal-answer.ts";
import { compileAnswer } from "./render-outputs.ts";
import type { CompiledRoute, RouteRequest } from "./route.ts";
import type { RouteContext } from "./route-context.ts";
import { compileExport } from "./sql-export.ts";

/** Compiles a route that changes the row of a key: fields that a body leaves out keep their values. */
export function compileUpdateRoute(
  context: RouteContext,
  service: ManifestService,
  route: ManifestUpdateRoute,
): CompiledRoute {
  const { layout } = context.layout(route.table);
  const updater = context.updater(route.table);
  const read = compileChangeReader(layout, route, context.checks);
  const render = compileAnswer(layout, route);
  const { log } = context.deps;
  const { on_error } = route;
  const exported = compileExport(context.deps.connectExport, layout, route);
  if (exported !== null) context.exports.push(exported);
  const headersOf = on_error === "ignore" ? cellErrorHeaders(layout) : () => JSON_HEADERS;
  const uses_python = route.handler !== null || updater.usesPython(route.inputs);
  const path = service.prefix + route.path;
  const place = `${context.input.target} ${service.name} POST ${path}`;
  const run = async (request: RouteRequest, stored: Row[], once?: Once): Promise<KeptAnswer> => {
    const change = read(request.body);
    const answer = (): KeptAnswer => {
      const headers = headersOf(change.row);
      if (wantsMinimal(request)) return minimalAnswer({ headers });
      return { status: 200, headers, body: render.whole(change.row) };
    };
    if (once !== undefined) keepWith(change.row, { ...once, answer: () => wholeAnswer(answer()) });
    const { signal, timing } = request;
    await updater.run(change, { signal, on_error, answerer: route.handler, timing });
    stored.push(change.row);
    return answer();
  };
  return {
    service: service.name,
    kind: route.kind,
    method: "POST",
    path,
    uses_python,
    takes_signal: uses_python,
    check: (request) => void read(request.body),
    async handle(request) {
      try {
        const once = readOnce(request, place);
        const stored: Row[] = [];
        const answer =
          once === undefined
            ? await run(request, stored)
            : await context.once.run(once, uses_python, () => run(request, stored, once));
        // Not for a request that was done before; and outside of `once`, to which an error means that nothing was.
        for (const row of stored) await exported?.write(row);
        return answer;
      } catch (error) {
        return answerError(error, request.id, log, request.signal);
      }
    },
  };
}
