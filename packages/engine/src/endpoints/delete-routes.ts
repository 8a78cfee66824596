import type { ManifestDeleteRoute, ManifestService } from "@appdb/contract/manifest";
import { answerError, JSON_HEADERS } from "../answers/answers.ts";
import type { KeptAnswer, Once } from "../idempotency/request-store.ts";
import { readOnce } from "../routes/idempotency-key.ts";
import type { CompiledRoute, RouteRequest } from "../routes/route.ts";
import type { RouteContext } from "../routes/route-context.ts";
import { compileMatchReader } from "../rows/validate-row.ts";
import { measured } from "../timing.ts";

/** Compiles a route that deletes the rows with the values of a body, and answers their number. */
export function compileDeleteRoute(
  context: RouteContext,
  service: ManifestService,
  route: ManifestDeleteRoute,
): CompiledRoute {
  const { layout } = context.layout(route.table);
  const deleter = context.deleter(route.table, route.match_columns);
  const read = compileMatchReader(layout, route.match_columns, context.checks);
  const path = service.prefix + route.path;
  const place = `${context.input.target} ${service.name} POST ${path}`;
  const respond = (count: number): KeptAnswer => {
    return { status: 200, headers: JSON_HEADERS, body: `{"num_rows":${count}}` };
  };
  const run = async (request: RouteRequest, once?: Once): Promise<KeptAnswer> => {
    const deletion = { row: read(request.body), request: once && { ...once, respond } };
    return respond(await measured(request.timing, "db", deleter.run(deletion)));
  };
  return {
    service: service.name,
    kind: route.kind,
    method: "POST",
    path,
    uses_python: false,
    takes_signal: false,
    check: (request) => void read(request.body),
    async handle(request) {
      try {
        const once = readOnce(request, place);
        if (once === undefined) return await run(request);
        return await context.once.run(once, false, () => run(request, once));
      } catch (error) {
        return answerError(error, request.id, context.deps.log, request.signal);
      }
    },
  };
}
