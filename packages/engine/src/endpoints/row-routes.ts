import type { ManifestRowRoute, ManifestService } from "@appdb/contract/manifest";
import { readOnce } from "../once/idempotency-key.ts";
import type { KeptAnswer, Once } from "../once/request-store.ts";
import { compileRowReader } from "../rows/validate-row.ts";
import { answerError, JSON_HEADERS } from "./answers.ts";
import { cellErrorHeaders } from "./cell-error-header.ts";
import { compileOutputs } from "./render-outputs.ts";
import type { CompiledRoute, RouteRequest } from "./route.ts";
import type { RouteContext } from "./route-context.ts";

/** Compiles a route that takes a row and answers values of it: an insert stores the row, a compute does not. */
export function compileRowRoute(
  context: RouteContext,
  service: ManifestService,
  route: ManifestRowRoute,
): CompiledRoute {
  const { layout, writer } = context.table(route.table);
  const read = compileRowReader(layout, route.inputs, context.checks);
  const render = compileOutputs(layout, route.outputs);
  const runner = route.kind === "insert" ? writer : context.computer(layout, route.outputs);
  const { log } = context.deps;
  const { on_error } = route;
  const headersOf = on_error === "ignore" ? cellErrorHeaders(layout) : () => JSON_HEADERS;
  const path = service.prefix + route.path;
  const place = `${context.input.target} ${service.name} POST ${path}`;
  const run = async (request: RouteRequest, once?: Once): Promise<KeptAnswer> => {
    const row = read(request.body);
    let made: KeptAnswer | undefined;
    const answer = (): KeptAnswer => {
      made ??= { status: 200, headers: headersOf(row), body: render(row) };
      return made;
    };
    const kept = once === undefined ? undefined : { ...once, answer };
    await runner.run(row, request.signal, on_error, kept, request.timing);
    return answer();
  };
  return {
    service: service.name,
    kind: route.kind,
    method: "POST",
    path,
    uses_python: runner.uses_python,
    takes_signal: runner.uses_python,
    async handle(request) {
      try {
        const once = route.kind === "insert" ? readOnce(request, place) : undefined;
        if (once === undefined) return await run(request);
        return await context.once.run(once, runner.uses_python, () => run(request, once));
      } catch (error) {
        return answerError(error, request.id, log, request.signal);
      }
    },
  };
}
