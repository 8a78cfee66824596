import type { ManifestService, ManifestUpdateRoute } from "@appdb/contract/manifest";
import { compileChangeReader } from "../rows/validate-row.ts";
import { answerError, JSON_HEADERS } from "./answers.ts";
import { cellErrorHeaders } from "./cell-error-header.ts";
import { compileOutputs } from "./render-outputs.ts";
import type { CompiledRoute } from "./route.ts";
import type { RouteContext } from "./route-context.ts";

/** Compiles a route that changes the row of a key: fields that a body leaves out keep their values. */
export function compileUpdateRoute(
  context: RouteContext,
  service: ManifestService,
  route: ManifestUpdateRoute,
): CompiledRoute {
  const { layout } = context.layout(route.table);
  const updater = context.updater(route.table);
  const read = compileChangeReader(layout, route, context.checks);
  const render = compileOutputs(layout, route.outputs);
  const { log } = context.deps;
  const { on_error } = route;
  const headersOf = on_error === "ignore" ? cellErrorHeaders(layout) : () => JSON_HEADERS;
  const uses_python = updater.usesPython(route.inputs);
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
        await updater.run(change, request.signal, on_error);
        return { status: 200, headers: headersOf(change.row), body: render(change.row) };
      } catch (error) {
        return answerError(error, request.id, log, request.signal);
      }
    },
  };
}
