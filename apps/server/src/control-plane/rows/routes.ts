import type { IncomingMessage } from "node:http";
import { dataTableSchema } from "@appdb/contract/routes/pod";
import { POD_ROUTES } from "@appdb/contract/routes/pod-paths";
import type { FastifyReply, FastifyRequest } from "fastify";
import * as z from "zod";
import { askDocument, callPod } from "../../pods/pod-client.ts";
import type { ControlRoutes } from "../../requests/checked-route.ts";
import { endOf } from "../../requests/response-signal.ts";
import { type FindPodDeps, findPod } from "../databases/find-pod.ts";

/** How often the right of somebody who sends rows for long is looked at again. */
const CHECK_MS = 20_000;
/** Of a request for rows, what the pod's route reads. */
const PASSED = ["content-type", "content-length", "content-encoding", "idempotency-key"] as const;
const NDJSON = "application/x-ndjson";

export interface RowRouteDeps extends FindPodDeps {
  mayStillRead(request: FastifyRequest): Promise<boolean>;
}

/** Tables and rows as the database's pod answers them. Rows go as they are: their numbers may be larger than JSON's readers keep. */
export function addRowRoutes(routes: ControlRoutes, deps: RowRouteDeps): void {
  routes.add("tableList", async ({ org, params, reply }) => {
    const { pod } = await findPod(deps, org, params.db, "read");
    return z
      .object({ tables: z.array(dataTableSchema) })
      .parse(await askDocument(pod, { ...POD_ROUTES.tableList, signal: endOf(reply) }));
  });
  routes.add("tableShow", async ({ org, params, reply }) => {
    const { pod } = await findPod(deps, org, params.db, "read");
    const call = { method: "GET", path: pathOf("tableShow", params.table), signal: endOf(reply) };
    return dataTableSchema.parse(await askDocument(pod, call));
  });
  routes.add("rowList", async ({ org, params, query, reply }) => {
    const { pod } = await findPod(deps, org, params.db, "read");
    const search = new URLSearchParams({
      limit: String(query.limit),
      ...(query.cursor === undefined ? {} : { cursor: query.cursor }),
    });
    const path = `${pathOf("rowList", params.table)}?${search}`;
    await handOn(await callPod(pod, { method: "GET", path, signal: endOf(reply) }), reply);
    return undefined;
  });
  routes.add("rowInsert", async ({ org, params, reply, request }) => {
    const { pod } = await findPod(deps, org, params.db, "written");
    const lost = new AbortController();
    const timer = setInterval(() => {
      deps.mayStillRead(request).then(
        (may) => may || lost.abort(),
        () => undefined,
      );
    }, CHECK_MS);
    try {
      const call = {
        method: "POST",
        path: pathOf("rowInsert", params.table),
        signal: AbortSignal.any([endOf(reply), lost.signal]),
      };
      const answer = await callPod(pod, { ...call, body: { stream: request.raw, headers: passedOn(request) } });
      await handOn(answer, reply);
    } finally {
      clearInterval(timer);
    }
  });
}

function pathOf(name: "tableShow" | "rowList" | "rowInsert", table: string): string {
  return POD_ROUTES[name].path.replace(":table", encodeURIComponent(table));
}

function passedOn({ headers }: FastifyRequest): Record<string, string> {
  return Object.fromEntries(
    PASSED.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]])),
  );
}

/** The answer's bytes, as nothing but JSON: a pod holds what strangers wrote. */
async function handOn(answer: IncomingMessage, reply: FastifyReply): Promise<void> {
  const type = answer.headers["content-type"]?.startsWith(NDJSON) === true ? NDJSON : "application/json; charset=utf-8";
  await reply
    .code(answer.statusCode ?? 200)
    .type(type)
    .send(answer);
}
