import type { TestProject } from "vitest/node";
import { startTestPostgres } from "./test-postgres.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The PostgreSQL of this run; test-database.ts creates databases on it. */
    postgres_dsn: string;
  }
}

/** vitest's globalSetup: starts one PostgreSQL for all test files of a run, and stops and removes it at the end. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startTestPostgres();
  project.provide("postgres_dsn", server.dsn);
  return async () => await server[Symbol.asyncDispose]();
}
