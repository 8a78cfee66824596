import type { FastifyServerOptions } from "fastify";

/**
 * Routes of the pod check what comes by themselves and write answers as text. Without this Fastify loads compilers of JSON
 * Schema that nobody calls: half of its own start, felt whenever a database is woken.
 */
export const NO_SCHEMAS: NonNullable<FastifyServerOptions["schemaController"]> = {
  compilersFactory: { buildValidator: refuse, buildSerializer: refuse },
};

function refuse(): never {
  throw new TypeError("Routes have no JSON Schema here; the bundle leaves its compilers out.");
}
