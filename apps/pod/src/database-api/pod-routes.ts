import type { PodHealth } from "@appdb/contract/pod-spec";
import { POD_ROUTES } from "@appdb/contract/routes/pod-paths";
import { VERSION } from "@appdb/contract/version";
import type { FastifyInstance } from "fastify";
import type { DatabasePodDeps } from "../composition/compose-database.ts";

/** Health and stop. Requests other than these are a use of the database. */
export function addPodRoutes(app: FastifyInstance, deps: DatabasePodDeps): void {
  const { use } = deps;
  app.addHook("onRequest", async (request, reply) => {
    const path = request.url.split("?")[0];
    if (path === POD_ROUTES.health.path || path === POD_ROUTES.stop.path) return;
    use.begin();
    // also when the client went away before its answer
    reply.raw.once("close", () => use.end());
  });
  app.get(POD_ROUTES.health.path, async (_request, reply) => {
    const health = await readHealth(deps);
    reply.code(health.state === "ready" ? 200 : 503);
    return health;
  });
  app.post(POD_ROUTES.stop.path, async (_request, reply) => {
    // the answer leaves before the listener closes
    reply.raw.once("close", () => deps.requestStop());
    return {};
  });
}

async function readHealth({ postgres, use, disk, lifecycle, meter, steady }: DatabasePodDeps): Promise<PodHealth> {
  const server = postgres.state();
  // before that PostgreSQL has to do what makes it ready
  const busy = server === "up" && lifecycle.is_ready ? await use.describe().catch(() => undefined) : undefined;
  const answers = busy !== undefined;
  const running = answers && lifecycle.is_ready ? "ready" : "starting";
  return {
    version: VERSION,
    pid: process.pid,
    state: lifecycle.is_stopping ? "stopping" : running,
    // it runs and does not answer: it is on its way, up or down
    postgres: server === "up" && !answers ? "starting" : server,
    busy: busy ?? null,
    idle_ms: Math.max(0, Math.round(steady.now() - use.last_used_at)),
    ...disk.describe(),
    metered: meter.read(),
  };
}
