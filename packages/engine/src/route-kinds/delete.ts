import type { ManifestDeleteRoute, ManifestService } from "@appdb/contract/manifest";
import { answerError, JSON_HEADERS } from "../answers/answers.ts";
import type { KeptAnswer, Once } from "../idempotency/request-store.ts";
import { BODY, errorResponses, WRITE } from "../openapi/errors.ts";
import { IDEMPOTENCY_HEADERS, IDEMPOTENCY_PARAMETER } from "../openapi/idempotency.ts";
import { operationId } from "../openapi/named-schemas.ts";
import { objectSchema } from "../openapi/schemas.ts";
import { readIdempotencyKey } from "../routes/idempotency-key.ts";
import type { CompiledRoute, RouteRequest } from "../routes/route.ts";
import type { RouteContext } from "../routes/route-context.ts";
import { compileMatchReader } from "../rows/validate-row.ts";
import { measured } from "../timing.ts";
import { checkedTable, checkNames, describeOverTable, tableParts } from "./over-row.ts";
import { compareRequired } from "./route-changes.ts";
import type { RouteKind } from "./route-kind.ts";
import { COUNT, requiredBody, tableOf } from "./row-openapi.ts";

/** Takes values, deletes all matching rows, and returns their number. */
export const deleteKind: RouteKind<ManifestDeleteRoute> = {
  title: "a delete",
  isHandler: false,
  computesColumns: false,
  changesRows: true,
  check(route, manifest, refuse) {
    checkNames(checkedTable(manifest, route.table, refuse), route.match_columns, refuse);
  },
  compile: compileDeleteRoute,
  describe: (route) => describeOverTable(route.table, route.match_columns, ["num_rows"]),
  openapi(route, { manifest, path, schemas }) {
    const { columns } = tableOf(manifest, route.table);
    const operation = {
      operationId: operationId(route, path),
      summary: `Delete rows of ${route.table}`,
      description: "Deletes all rows with these values; null matches rows without a value.",
      tags: [route.table],
      parameters: [IDEMPOTENCY_PARAMETER],
      requestBody: requiredBody(objectSchema(columns, route.match_columns, "match")),
      responses: {
        "200": {
          description: "The number of deleted rows.",
          headers: IDEMPOTENCY_HEADERS,
          content: { "application/json": { schema: COUNT } },
        },
        ...errorResponses([...BODY, ...WRITE]),
      },
    };
    return schemas.nameIn(operation, route, path, "DeleteResponse");
  },
  compare(before, after, _, changes) {
    if (before.kind !== after.kind) return;
    if (before.table !== after.table) changes.breaking.push(`it now uses table ${after.table}`);
    compareRequired("match column", before.match_columns, after.match_columns, changes);
  },
  overTable(table) {
    const { place: route, key } = tableParts(table);
    return key.length === 0 ? undefined : { kind: "delete", match_columns: key, ...route };
  },
};

function compileDeleteRoute(
  context: RouteContext,
  service: ManifestService,
  route: ManifestDeleteRoute,
): CompiledRoute {
  const { layout } = context.layout(route.table);
  const deleter = context.deleter(route.table, route.match_columns);
  const read = compileMatchReader(layout, route.match_columns, context.checks);
  const path = service.prefix + route.path;
  const routeText = `${context.input.target} ${service.name} POST ${path}`;
  const respond = (count: number): KeptAnswer => {
    return { status: 200, headers: JSON_HEADERS, body: `{"num_rows":${count}}` };
  };
  const run = async (request: RouteRequest, once?: Once): Promise<KeptAnswer> => {
    const deletion = { row: read(request.body), request: once && { ...once, respond } };
    return respond(await measured(request.timing, "db", deleter.run(deletion)));
  };
  return {
    service: service.name,
    method: "POST",
    path,
    uses_python: false,
    takes_signal: false,
    check: (request) => void read(request.body),
    async handle(request) {
      try {
        const once = readIdempotencyKey(request, routeText);
        if (once === undefined) return await run(request);
        return await context.once.run(once, false, () => run(request, once));
      } catch (error) {
        return answerError(error, request.id, context.deps.log, request.signal);
      }
    },
  };
}
