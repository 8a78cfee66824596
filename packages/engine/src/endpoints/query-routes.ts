import { appError } from "@appdb/contract/errors";
import type { ManifestQuery, ManifestQueryRoute, ManifestService } from "@appdb/contract/manifest";
import type { QueryAnswer } from "../queries/query-runner.ts";
import { compileParameters } from "../queries/read-parameters.ts";
import { answerError, JSON_HEADERS } from "./answers.ts";
import type { CompiledRoute } from "./route.ts";
import type { RouteContext } from "./route-context.ts";

/** Compiles a route that takes values of a query's parameters and answers its rows. */
export function compileQueryRoute(
  context: RouteContext,
  service: ManifestService,
  route: ManifestQueryRoute,
): CompiledRoute {
  const { named, asker, runner } = context.queries.open(route.query);
  const parameters = compileParameters(named.parameters, route.inputs);
  const render = renderer(route, named);
  return {
    service: service.name,
    kind: route.kind,
    method: route.method === "get" ? "GET" : "POST",
    path: service.prefix + route.path,
    uses_python: runner.uses_python,
    takes_signal: asker.takes_signal,
    async handle(request) {
      try {
        const args =
          route.method === "get" ? parameters.fromUrl(request.search ?? "") : parameters.fromBody(request.body);
        const answer = await asker.ask(args, request.signal);
        return { status: 200, headers: JSON_HEADERS, body: render(answer) };
      } catch (error) {
        return answerError(error, request.id, context.deps.log, request.signal);
      }
    },
  };
}

/** @throws row_not_found, several_rows from the writer of a route with one_row */
function renderer(route: ManifestQueryRoute, named: ManifestQuery): (answer: QueryAnswer) => string {
  if (!route.one_row) {
    return named.return_scalar ? ({ text }) => `[${text}]` : ({ text }) => `{"rows":[${text}]}`;
  }
  return ({ count, text }) => {
    if (count === 1) return text;
    if (count === 0) {
      throw appError("row_not_found", {
        detail: `The query ${named.name} found no row.`,
        hint: "Send other parameters.",
        meta: { query: named.name },
      });
    }
    throw appError("several_rows", {
      detail: `The query ${named.name} found ${count} rows; the route answers exactly one.`,
      hint: "Narrow the query by where(), or take the first with limit(1).",
      meta: { query: named.name, rows: count },
    });
  };
}
