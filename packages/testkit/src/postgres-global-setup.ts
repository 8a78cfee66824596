import type { TestProject } from "vitest/node";
import { startTestPostgres } from "./test-postgres.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The run's own PostgreSQL; test-database.ts makes databases on it. */
    postgres_dsn: string;
  }
}

/** vitest's globalSetup: one PostgreSQL for all the test files of a run, stopped and removed at its end. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startTestPostgres();
  project.provide("postgres_dsn", server.dsn);
  return async () => await server[Symbol.asyncDispose]();
}
