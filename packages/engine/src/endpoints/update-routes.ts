import type { ManifestService, ManifestUpdateRoute } from "@appdb/contract/manifest";
import { compileChangeReader } from "../rows/validate-row.ts";
import { answerError, JSON_HEADERS } from "./answers.ts";
import { cellErrorHeaders } from "./cell-error-header.ts";
import { minimalAnswer, wantsMinimal } from "./minimal-answer.ts";
import { compileAnswer } from "./render-outputs.ts";
import type { CompiledRoute } from "./route.ts";
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
  return {
    service: service.name,
    kind: route.kind,
    method: "POST",
    path: service.prefix + route.path,
    uses_python,
    takes_signal: uses_python,
    async handle(request) {
      try {
        const change = read(request.body);
        const { signal, timing } = request;
        await updater.run(change, { signal, on_error, answerer: route.handler, timing });
        await exported?.write(change.row);
        const answer = { status: 200, headers: headersOf(change.row), body: render.whole(change.row) };
        return wantsMinimal(request) ? minimalAnswer(answer) : answer;
      } catch (error) {
        return answerError(error, request.id, log, request.signal);
      }
    },
  };
}
