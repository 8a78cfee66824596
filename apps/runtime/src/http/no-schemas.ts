import type { FastifyServerOptions } from "fastify";

/**
 * Routes of the pod check their input and write answers as text. Without this setting, Fastify loads unused JSON Schema
 * compilers, which take half of its start and delay waking a database.
 */
export const NO_SCHEMAS: NonNullable<FastifyServerOptions["schemaController"]> = {
  compilersFactory: { buildValidator: refuse, buildSerializer: refuse },
};

function refuse(): never {
  throw new TypeError("Routes have no JSON Schema here; the bundle leaves its compilers out.");
}
