import { ensureServiceRole } from "@appdb/adapters/postgres/service-role";
import { type PodServiceRole, podServiceRoleRequestSchema } from "@appdb/contract/routes/pod";
import { POD_ROUTES } from "@appdb/contract/routes/pod-paths";
import type { FastifyInstance } from "fastify";
import { parseRequest } from "../api/parse.ts";
import type { DatabasePodDeps } from "../compose-database.ts";

/** Roles of PostgreSQL for the services of the database. */
export function addRoleRoutes(app: FastifyInstance, deps: DatabasePodDeps): void {
  app.post(POD_ROUTES.serviceRole.path, async (request): Promise<PodServiceRole> => {
    const { role } = parseRequest(podServiceRoleRequestSchema, request.body);
    await deps.ready();
    await ensureServiceRole(deps.sql, role);
    const dsn = new URL(deps.postgres.dsn(deps.database));
    dsn.searchParams.set("user", role);
    // it writes only as long as there is room on the disk
    dsn.searchParams.delete("options");
    return { dsn: dsn.href };
  });
}
