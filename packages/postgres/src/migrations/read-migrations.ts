import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Migration } from "@appdb/engine/catalog/ensure-catalog";

const FILE = /^(\d{4})_[a-z0-9_]+\.sql$/;
/** The comment that a file begins with: why the step is taken, what it locks, and whether older versions can work next to it. */
const HEADER = /^(?:--.*\n)+/;
const BREAKING = /^-- breaking\b(?<reason>: \S)?/m;

/** The migrations of the catalog, schema `appdb`. */
export function readCatalogMigrations(): readonly Migration[] {
  return readMigrations([
    join(import.meta.dirname, "catalog-migrations"),
    join(import.meta.dirname, "../../../engine/migrations"),
  ]);
}

/** The migrations in the first of these folders that exists, in their order: next to the bundle, or in the sources. */
export function readMigrations(folders: readonly string[]): readonly Migration[] {
  const folder = folders.find((place) => existsSync(place));
  if (folder === undefined) throw new Error(`The migrations are in none of ${folders.join(", ")}.`);
  const names = readdirSync(folder).filter((name) => name.endsWith(".sql"));
  const migrations = names.sort().map((name) => readMigration(folder, name));
  const twice = migrations.find(({ number }, at) => migrations[at - 1]?.number === number);
  if (twice !== undefined) throw new Error(`${join(folder, twice.name)} has the number of another migration.`);
  return migrations;
}

function readMigration(folder: string, name: string): Migration {
  const file = join(folder, name);
  const number = Number(FILE.exec(name)?.[1]);
  if (!Number.isInteger(number)) throw new Error(`${file} is not named like 0001_identity.sql.`);
  const sql = readFileSync(file, "utf8");
  const header = HEADER.exec(sql)?.[0];
  if (header === undefined) throw new Error(`${file} does not begin with a comment that says why.`);
  const mark = BREAKING.exec(header);
  if (mark !== null && mark.groups?.reason === undefined) throw new Error(`${file}: expected "-- breaking: <why>".`);
  return { number, name, is_breaking: mark !== null, sql };
}
