import { SqlError } from "../ports.ts";

/** Undefined table, column or schema. */
const GONE: ReadonlySet<string> = new Set(["42P01", "42703", "3F000"]);
const MAX_ATTEMPTS = 5;

/**
 * Runs a read that looks into the catalog and then into its tables. It runs again when a table was moved, replaced or
 * dropped in between, and the last error is thrown when that does not end.
 */
export async function readAgain<T>(read: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof SqlError && GONE.has(error.sqlstate)) || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}
