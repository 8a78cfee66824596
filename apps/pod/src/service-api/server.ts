import type { Applied } from "@appdb/adapters/keys/key-verifier";
import { appError } from "@appdb/contract/errors";
import type { ServicePodHealth, ServicePodSpec } from "@appdb/contract/pod-spec";
import { SERVICE_POD_ROUTES } from "@appdb/contract/routes/pod-paths";
import { VERSION } from "@appdb/contract/version";
import type { Logger } from "@appdb/engine/ports";
import type { FastifyInstance } from "fastify";
import { showsToken } from "../api/handshake.ts";
import { createJsonApi } from "../api/json-api.ts";
import type { MetricsPage } from "../http/service-metrics.ts";
import type { ServiceKeys } from "./service-keys.ts";
import type { Traffic } from "./traffic.ts";

export interface ServiceApiDeps {
  readonly spec: Pick<ServicePodSpec, "token">;
  readonly log: Logger;
  readonly keys: Pick<ServiceKeys, "apply">;
  readonly traffic: Traffic;
  readonly lifecycle: { readonly state: ServicePodHealth["state"] };
  metrics(): Promise<readonly MetricsPage[]>;
  /** Both return at once. */
  requestDrain(): void;
  requestStop(): void;
}

/** The API of a service pod (SERVICE_POD_ROUTES of contract/routes/pod-paths.ts): every request shows the pod's token. */
export function createServiceApi(deps: ServiceApiDeps): FastifyInstance {
  const { health, keys, metrics, drain, stop } = SERVICE_POD_ROUTES;
  const app = createJsonApi({
    log: deps.log,
    name: "pod",
    close: "idle",
    authorize: ({ headers }) => {
      if (showsToken(headers.authorization, deps.spec.token)) return;
      throw appError("unauthorized", { detail: "The request does not carry this pod's token." });
    },
  });
  app.get(health.path, async (_request, reply) => {
    const found = readHealth(deps);
    reply.code(found.state === "ready" ? 200 : 503);
    return found;
  });
  app.put(keys.path, async (request, reply) => {
    const applied = deps.keys.apply(typeof request.body === "string" ? request.body : "");
    if (applied !== "applied") throw refused(applied);
    return reply.code(204).send();
  });
  app.get(metrics.path, async (_request, reply) => {
    const pages = await deps.metrics();
    reply.type(pages[0]?.content_type ?? "text/plain");
    return pages.map(({ text }) => text).join("");
  });
  app.post(drain.path, async () => {
    deps.requestDrain();
    return {};
  });
  app.post(stop.path, async (_request, reply) => {
    // the answer leaves before the listener closes
    reply.raw.once("close", () => deps.requestStop());
    return {};
  });
  return app;
}

function readHealth({ lifecycle, traffic }: ServiceApiDeps): ServicePodHealth {
  const { in_flight: inFlight, idle_ms: idleMs } = traffic;
  return { version: VERSION, pid: process.pid, state: lifecycle.state, in_flight: inFlight, idle_ms: idleMs };
}

const WHY = {
  older: "It is older than the one that is there.",
  foreign: "It is of another database.",
  forged: "Its signature is not the control plane's.",
} as const satisfies Record<Exclude<Applied, "applied">, string>;

function refused(applied: Exclude<Applied, "applied">): Error {
  return appError("keys_refused", { detail: `The snapshot of keys is not taken. ${WHY[applied]}`, meta: { applied } });
}
