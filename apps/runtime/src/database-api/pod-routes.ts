import type { PodHealth } from "@appdb/contract/pod-spec";
import type { POD_API } from "@appdb/contract/routes/pod-api";
import { POD_ROUTES } from "@appdb/contract/routes/pod-paths";
import { VERSION } from "@appdb/contract/version";
import { socketDsn } from "@appdb/postgres/client/socket-dsn";
import { dropServiceRole, ensureServiceRole, servicePassword } from "@appdb/postgres/cluster/service-role";
import type { FastifyInstance } from "fastify";
import type { Handlers } from "../api/json-api.ts";
import type { DatabasePodDeps } from "../composition/compose-database.ts";
import { isRenewal } from "./program-routes.ts";

/**
 * Health and stop, and PostgreSQL roles of services. All requests except health, stop and renewals of programs count as
 * use of the database.
 */
export function podHandlers(
  app: FastifyInstance,
  deps: DatabasePodDeps,
): Pick<Handlers<typeof POD_API>, "health" | "serviceRole" | "serviceRoleDrop" | "stop"> {
  const { use } = deps;
  app.addHook("onRequest", async (request, reply) => {
    const path = request.url.split("?")[0];
    if (path === POD_ROUTES.health.path || path === POD_ROUTES.stop.path) return;
    if (isRenewal(request.method, path ?? "")) return;
    use.begin();
    // also when the client disconnects before its answer
    reply.raw.once("close", () => use.end());
  });
  return {
    health: async ({ reply }) => {
      const health = await readHealth(deps);
      reply.code(health.state === "ready" ? 200 : 503);
      return health;
    },
    stop: ({ reply }) => {
      // the answer is sent before the listener closes
      reply.raw.once("close", () => deps.requestStop());
      return {};
    },
    serviceRole: async ({ body: { role } }) => {
      await deps.ready();
      const password = servicePassword(deps.spec.token, role);
      await ensureServiceRole(deps.superuser, { name: role, password });
      return { dsn: socketDsn({ folder: deps.spec.run_folder, database: deps.database, user: role, password }) };
    },
    serviceRoleDrop: async ({ params }) => {
      await deps.ready();
      await dropServiceRole(deps.superuser, params.role);
    },
  };
}

async function readHealth({ postgres, use, disk, lifecycle, meter, steady }: DatabasePodDeps): Promise<PodHealth> {
  const server = postgres.state();
  // before that, PostgreSQL is busy with its preparation
  const busy = server === "up" && lifecycle.is_ready ? await use.describe().catch(() => undefined) : undefined;
  const answers = busy !== undefined;
  const running = answers && lifecycle.is_ready ? "ready" : "starting";
  return {
    version: VERSION,
    pid: process.pid,
    state: lifecycle.is_stopping ? "stopping" : running,
    // running but not responding: it is starting or stopping
    postgres: server === "up" && !answers ? "starting" : server,
    busy: busy ?? null,
    idle_ms: Math.max(0, Math.round(steady.now() - use.last_used_at)),
    ...disk.describe(),
    metered: meter.read(),
  };
}
