import { appError } from "@appdb/contract/errors";
import type { ServicePodHealth, ServicePodSpec } from "@appdb/contract/pod-spec";
import { SERVICE_POD_API } from "@appdb/contract/routes/pod-api";
import { VERSION } from "@appdb/contract/version";
import type { Logger } from "@appdb/engine/ports";
import { LINK_VERSIONS } from "@appdb/pods/link/link";
import type { Applied } from "@appdb/system/keys/key-verifier";
import type { FastifyInstance } from "fastify";
import { hasToken } from "../api/handshake.ts";
import { createJsonApi, mountApi } from "../api/json-api.ts";
import type { MetricsPage } from "../http/service-metrics.ts";
import type { CallerKeys } from "./caller-keys.ts";
import type { TrafficCounter } from "./traffic-counter.ts";

export interface ServiceApiDeps {
  readonly spec: Pick<ServicePodSpec, "token">;
  readonly log: Logger;
  readonly keys: Pick<CallerKeys, "apply">;
  readonly traffic: TrafficCounter;
  readonly lifecycle: { readonly state: ServicePodHealth["state"] };
  metrics(): Promise<readonly MetricsPage[]>;
  /** Both return immediately. */
  requestDrain(): void;
  requestStop(): void;
}

/**
 * The API of a service pod (SERVICE_POD_API of contract/routes/pod-api.ts). Every request must send the pod's token.
 */
export function createServiceApi(deps: ServiceApiDeps): FastifyInstance {
  const app = createJsonApi({
    log: deps.log,
    name: "pod",
    close: "idle",
    authorize: ({ headers }) => {
      if (hasToken(headers.authorization, deps.spec.token)) return;
      throw appError("unauthorized", { detail: "The request does not carry this pod's token." });
    },
  });
  mountApi(app, deps, SERVICE_POD_API, {
    health: ({ reply }) => {
      const found = readHealth(deps);
      reply.code(found.state === "ready" ? 200 : 503);
      return found;
    },
    keys: ({ request }) => {
      const applied = deps.keys.apply(typeof request.body === "string" ? request.body : "");
      if (applied !== "applied") throw refused(applied);
    },
    metrics: async ({ reply }) => {
      const pages = await deps.metrics();
      await reply.type(pages[0]?.content_type ?? "text/plain").send(pages.map(({ text }) => text).join(""));
    },
    drain: () => {
      deps.requestDrain();
      return {};
    },
    stop: ({ reply }) => {
      // the answer is sent before the listener closes
      reply.raw.once("close", () => deps.requestStop());
      return {};
    },
  });
  return app;
}

function readHealth({ lifecycle, traffic }: ServiceApiDeps): ServicePodHealth {
  const { in_flight: inFlight, idle_ms: idleMs } = traffic;
  return {
    version: VERSION,
    pid: process.pid,
    state: lifecycle.state,
    in_flight: inFlight,
    idle_ms: idleMs,
    link_versions: LINK_VERSIONS,
  };
}

const WHY = {
  older: "It is older than the current one.",
  foreign: "It belongs to another database.",
  forged: "The control plane did not sign it.",
} as const satisfies Record<Exclude<Applied, "applied">, string>;

function refused(applied: Exclude<Applied, "applied">): Error {
  return appError("keys_refused", { detail: `The snapshot of keys was rejected. ${WHY[applied]}`, meta: { applied } });
}
