import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { HOME_PATHS } from "@appdb/contract/home";
import { parseLocalTarget } from "@appdb/contract/names";
import type { ScratchCreateRequest } from "@appdb/contract/routes/local";
import type { Logger } from "@appdb/engine/ports";
import type { PostgresProvider } from "@appdb/postgres/cluster/postgres-provider";
import { removeFolder } from "@appdb/system/files/remove-folder";
import { writePrivateFile } from "@appdb/system/processes/private-files";
import { identifyProcess, isProcessAlive, type ProcessIdentity } from "@appdb/system/processes/process-identity";
import * as z from "zod";
import type { LocalManifests } from "../code/local-manifests.ts";
import { CleanCopies } from "./clean-copies.ts";
import type { OpenDatabases } from "./open-databases.ts";

export interface ScratchDeps {
  readonly home: string;
  readonly databases: OpenDatabases;
  readonly manifests: Pick<LocalManifests, "separate" | "forget">;
  readonly postgres: PostgresProvider;
  readonly log: Logger;
}

/** Databases deleted concurrently. Each deletion waits for a checkpoint, which they share. */
const DROPS_AT_ONCE = 4;

const processSchema = z.strictObject({ pid: z.int(), started: z.string() });

/**
 * Databases that are deleted with a process: those of tests. A file for each is written before the database exists, so
 * that a killed process or daemon leaves none.
 */
export class ScratchDatabases {
  readonly #deps: ScratchDeps;
  readonly #folder: string;
  readonly #copies: CleanCopies;
  /** Deletions, of which each waits for the previous one. */
  readonly #lanes: Promise<void>[] = Array.from({ length: DROPS_AT_ONCE }, () => Promise.resolve());

  constructor(deps: ScratchDeps) {
    this.#deps = deps;
    this.#folder = join(deps.home, HOME_PATHS.scratch);
    this.#copies = new CleanCopies({
      ...deps,
      rename: (from, to) => this.#rename(from, to),
      drop: (name) => this.#dropLater(name),
    });
  }

  /** Makes an empty database or a copy. @throws database_exists, database_not_found, invalid_request, invalid_target */
  async create({ copy_of: copyOf, name, pid }: ScratchCreateRequest): Promise<{ name: string }> {
    const { databases, manifests, postgres } = this.#deps;
    const { database, folders } = parseLocalTarget(name);
    const owner = identifyProcess(pid);
    if (owner === undefined) throw noProcess(pid);
    if (copyOf !== null && this.#ownerOf(copyOf) === undefined) throw notScratch(copyOf);
    // a database that exists must never be deleted with this process
    if (folders.length > 0 || (await postgres.hasDatabase(database))) throw exists(name);
    writePrivateFile(this.#fileOf(database), JSON.stringify(owner));
    manifests.separate(database, copyOf);
    const isReused = copyOf !== null && (await this.#copies.make(copyOf, database));
    await databases.open(database, isReused);
    return { name: database };
  }

  /** Deletes a scratch database in the background, or cleans it for a next test. @throws database_not_found */
  delete(name: string): void {
    if (this.#ownerOf(name) === undefined) throw notScratch(name);
    if (!this.#copies.release(name)) this.#dropLater(name);
  }

  /** Deletes databases whose process has ended. */
  async sweep(): Promise<void> {
    for (const name of this.#names()) {
      const owner = this.#ownerOf(name);
      if (owner === undefined || !isProcessAlive(owner)) this.#dropLater(name);
    }
    await Promise.all(this.#lanes);
  }

  /** The databases of a PostgreSQL without scratch databases, which may go at any moment. */
  async listOthers(): Promise<string[]> {
    const before = new Set(this.#names());
    const names = await this.#deps.postgres.listDatabases();
    const after = new Set(this.#names());
    return names.filter((name) => !before.has(name) && !after.has(name));
  }

  /** Waits for deletions. */
  async close(): Promise<void> {
    await this.#copies.settle();
    await Promise.all(this.#lanes);
  }

  /** Deletions of the same name follow each other. */
  #dropLater(name: string): void {
    const lane = Buffer.from(name).reduce((sum, byte) => sum + byte, 0) % DROPS_AT_ONCE;
    this.#lanes[lane] = (this.#lanes[lane] ?? Promise.resolve())
      .then(() => this.#drop(name))
      .catch((error: unknown) =>
        this.#deps.log.warn({ err: error, database: name }, "a scratch database was not deleted"),
      );
  }

  async #drop(name: string): Promise<void> {
    if (!existsSync(this.#fileOf(name))) return;
    this.#copies.forget(name);
    await this.#deps.databases.remove(name);
    await this.#removeFiles(name);
  }

  /** The next daemon finds the record of the new name, even if this one ends before the database has it. */
  async #rename(from: string, to: string): Promise<void> {
    if (!existsSync(this.#fileOf(to))) writePrivateFile(this.#fileOf(to), readFileSync(this.#fileOf(from), "utf8"));
    await this.#deps.databases.rename(from, to);
    await this.#removeFiles(from);
  }

  /** Removes what a database has outside PostgreSQL, and then its record. */
  async #removeFiles(name: string): Promise<void> {
    const { home, manifests } = this.#deps;
    await removeFolder(join(home, HOME_PATHS.media, name));
    manifests.forget(name);
    rmSync(this.#fileOf(name), { force: true });
  }

  #names(): string[] {
    if (!existsSync(this.#folder)) return [];
    return readdirSync(this.#folder).flatMap((file) =>
      file.endsWith(".json") ? [file.slice(0, -".json".length)] : [],
    );
  }

  #ownerOf(name: string): ProcessIdentity | undefined {
    const { database } = parseLocalTarget(name);
    const path = this.#fileOf(database);
    return existsSync(path) ? processSchema.safeParse(JSON.parse(readFileSync(path, "utf8"))).data : undefined;
  }

  #fileOf(database: string): string {
    return join(this.#folder, `${database}.json`);
  }
}

function noProcess(pid: number): Error {
  return appError("invalid_request", {
    detail: `The process ${pid} does not run on the machine of the daemon.`,
    hint: "Send the pid of the calling process.",
    meta: { pid },
  });
}

function notScratch(name: string): Error {
  return appError("database_not_found", {
    detail: `'${name}' is not a scratch database.`,
    hint: "Delete other databases with: cli db delete",
    meta: { database: name },
  });
}

function exists(name: string): Error {
  return appError("database_exists", {
    detail: `'${name}' cannot be a scratch database: it exists, or names a folder.`,
    hint: "Use another name.",
    meta: { database: name },
  });
}
