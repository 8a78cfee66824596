import { dropServiceRole, ensureServiceRole, servicePassword } from "@appdb/adapters/postgres/service-role";
import { socketDsn } from "@appdb/adapters/postgres/socket-dsn";
import { type PodServiceRole, podServiceRoleRequestSchema } from "@appdb/contract/routes/pod";
import { POD_ROUTES } from "@appdb/contract/routes/pod-paths";
import type { FastifyInstance } from "fastify";
import { parseRequest } from "../api/parse.ts";
import type { DatabasePodDeps } from "../composition/compose-database.ts";

/** Roles of PostgreSQL for the services of the database. */
export function addRoleRoutes(app: FastifyInstance, deps: DatabasePodDeps): void {
  app.post(POD_ROUTES.serviceRole.path, async (request): Promise<PodServiceRole> => {
    const { role } = parseRequest(podServiceRoleRequestSchema, request.body);
    await deps.ready();
    const password = servicePassword(deps.spec.token, role);
    await ensureServiceRole(deps.superuser, { name: role, password });
    return { dsn: socketDsn({ folder: deps.spec.run_folder, database: deps.database, user: role, password }) };
  });
  app.delete(POD_ROUTES.serviceRoleDrop.path, async (request, reply) => {
    const { role } = parseRequest(podServiceRoleRequestSchema, request.params);
    await deps.ready();
    await dropServiceRole(deps.superuser, role);
    return reply.code(204).send();
  });
}
