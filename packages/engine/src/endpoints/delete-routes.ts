import type { ManifestDeleteRoute, ManifestService } from "@appdb/contract/manifest";
import { compileMatchReader } from "../rows/validate-row.ts";
import { measured } from "../timing.ts";
import { answerError, JSON_HEADERS } from "./answers.ts";
import type { CompiledRoute } from "./route.ts";
import type { RouteContext } from "./route-context.ts";

/** Compiles a route that deletes the rows with the values of a body, and answers their number. */
export function compileDeleteRoute(
  context: RouteContext,
  service: ManifestService,
  route: ManifestDeleteRoute,
): CompiledRoute {
  const { layout } = context.layout(route.table);
  const deleter = context.deleter(route.table, route.match_columns);
  const read = compileMatchReader(layout, route.match_columns, context.checks);
  return {
    service: service.name,
    kind: route.kind,
    method: "POST",
    path: service.prefix + route.path,
    uses_python: false,
    takes_signal: false,
    async handle(request) {
      try {
        const count = await measured(request.timing, "db", deleter.run(read(request.body)));
        return { status: 200, headers: JSON_HEADERS, body: `{"num_rows":${count}}` };
      } catch (error) {
        return answerError(error, request.id, context.deps.log, request.signal);
      }
    },
  };
}
