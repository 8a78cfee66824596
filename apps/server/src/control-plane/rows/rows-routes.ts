import { appError } from "@appdb/contract/errors";
import { SENDER_HEADER } from "@appdb/contract/routes/data-writes";
import { dropBody } from "@appdb/http/drop-body";
import { endOf } from "@appdb/http/mount-api";
import type { FastifyReply, FastifyRequest } from "fastify";
import { type PodAnswer, type PodClient, podClient } from "../../pods/pod-client.ts";
import { ownerOfBodies } from "../../requests/body-bytes.ts";
import type { ControlRoutes } from "../../requests/checked-route.ts";
import { type FindPodDeps, findPod } from "../databases/find-pod.ts";
import { forwardAnswer, forwardDocument } from "./forward-answer.ts";
import { forwardFile } from "./forward-file.ts";
import { type WhileAllowedDeps, whileAllowed } from "./while-allowed.ts";

/** Request headers that the pod's route reads. */
const PASSED = ["content-type", "content-length", "content-encoding", "idempotency-key"] as const;
const RANGE = ["range", "if-range"] as const;

export interface RowRouteDeps extends FindPodDeps, WhileAllowedDeps {}

/** Passes tables and rows of the database's pod on. Rows stay bytes: JSON parsers would round large numbers. */
export function addRowRoutes(routes: ControlRoutes, deps: RowRouteDeps): void {
  routes.add("tableList", async ({ org, params, reply }) => {
    const { pod } = await findPod(deps, org, params.db, "read");
    await forwardDocument(pod, reply, (client, options) => client.open("tableList", {}, options));
    return undefined;
  });
  routes.add("tableShow", async ({ org, params: { db, table }, reply }) => {
    const { pod } = await findPod(deps, org, db, "read");
    await forwardDocument(pod, reply, (client, options) => client.open("tableShow", { params: { table } }, options));
    return undefined;
  });
  routes.add("rowList", async ({ org, params: { db, table }, query, reply }) => {
    const { pod } = await findPod(deps, org, db, "read");
    await forwardAnswer(
      await podClient(pod).open("rowList", { params: { table }, query }, { signal: endOf(reply) }),
      reply,
    );
    return undefined;
  });
  routes.add("rowShow", async ({ org, params: { db, table }, query, reply }) => {
    const { pod } = await findPod(deps, org, db, "read");
    await forwardAnswer(
      await podClient(pod).open("rowShow", { params: { table }, query }, { signal: endOf(reply) }),
      reply,
    );
    return undefined;
  });
  routes.add("rowCount", async ({ org, params: { db, table }, query, reply }) => {
    const { pod } = await findPod(deps, org, db, "read");
    await forwardDocument(pod, reply, (client, options) =>
      client.open("rowCount", { params: { table }, query }, options),
    );
    return undefined;
  });
  routes.add("queryRun", async ({ org, body, params: { db }, query, reply, request }) => {
    if (body.runtime !== null) throw hasRuntime();
    const { pod } = await findPod(deps, org, db, "read");
    await whileAllowed(deps, request, async (lost) => {
      const options = { signal: AbortSignal.any([endOf(reply), lost]), headers: passed(request, ["accept"]) };
      await forwardAnswer(await podClient(pod).open("queryRun", { body, query }, options), reply);
    });
  });
  routes.add("sqlRun", async ({ org, body, params: { db }, query, reply, request }) => {
    const { pod } = await findPod(deps, org, db, "read");
    await whileAllowed(deps, request, async (lost) => {
      const options = { signal: AbortSignal.any([endOf(reply), lost]), headers: passed(request, ["accept"]) };
      await forwardAnswer(await podClient(pod).open("sqlRun", { body, query }, options), reply);
    });
  });
  routes.add("fileShow", async ({ org, params, query, reply, request }) => {
    const { pod } = await findPod(deps, org, params.db, "read");
    const options = { signal: endOf(reply), headers: passed(request, RANGE) };
    await forwardFile(await podClient(pod).open("fileShow", { query }, options), request, reply);
    return undefined;
  });
  routes.add("rowInsert", ({ org, params, query, reply, request }) =>
    forwardWrite(deps, { org, params, reply, request }, (pod, rows, options) =>
      pod.open("rowInsert", { ...rows, query }, options),
    ),
  );
  routes.add("rowCompute", ({ org, params, query, reply, request }) =>
    forwardWrite(deps, { org, params, reply, request }, (pod, rows, options) =>
      pod.open("rowCompute", { ...rows, query }, options),
    ),
  );
  routes.add("rowUpdate", async ({ org, params, reply, request }) => {
    await forwardWrite(deps, { org, params, reply, request }, (pod, rows, options) =>
      pod.open("rowUpdate", rows, options),
    );
    return undefined;
  });
  routes.add("rowDelete", async ({ org, params, reply, request }) => {
    await forwardWrite(deps, { org, params, reply, request }, (pod, rows, options) =>
      pod.open("rowDelete", rows, options),
    );
    return undefined;
  });
}

interface Write {
  readonly org: Parameters<typeof findPod>[1];
  readonly params: { readonly db: string; readonly table: string };
  readonly reply: FastifyReply;
  readonly request: FastifyRequest;
}

interface WriteOptions {
  readonly signal: AbortSignal;
  readonly headers: Readonly<Record<string, string>>;
}

/** Passes a write to the pod, as long as its caller has the permission. */
async function forwardWrite(
  deps: RowRouteDeps,
  { org, params, reply, request }: Write,
  open: (
    pod: PodClient,
    rows: { readonly params: { readonly table: string }; readonly sent: AsyncIterable<Uint8Array> },
    options: WriteOptions,
  ) => Promise<PodAnswer>,
): Promise<void> {
  const { pod } = await findPod(deps, org, params.db, "written");
  const headers = { ...passed(request, PASSED), [SENDER_HEADER]: ownerOfBodies(request.principal) ?? "" };
  await whileAllowed(deps, request, async (lost) => {
    const signal = AbortSignal.any([endOf(reply), lost]);
    // the client's connection remains when the pod refuses the body, and carries the refusal
    const sent = request.raw.iterator({ destroyOnReturn: false });
    const rows = { params: { table: params.table }, sent };
    try {
      await forwardAnswer(await open(podClient(pod), rows, { signal, headers }), reply);
    } finally {
      dropBody(request.raw);
    }
  });
}

function passed({ headers }: FastifyRequest, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]])),
  );
}

function hasRuntime(): Error {
  return appError("invalid_request", {
    detail: "A hosted database runs its own project files; the request has a runtime.",
    hint: "Send no runtime, or null.",
    errors: [{ pointer: "/runtime", detail: "The runtime must be null." }],
  });
}
