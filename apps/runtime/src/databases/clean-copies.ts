import { randomBytes } from "node:crypto";
import type { Logger } from "@appdb/engine/ports";
import { cleanDatabase, type DatabaseMark, markDatabase } from "@appdb/postgres/cluster/clean-database";
import type { PostgresProvider } from "@appdb/postgres/cluster/postgres-provider";
import { withinTime } from "@appdb/system/processes/within-time";
import type { OpenDatabases } from "./open-databases.ts";

/** Clean copies that wait for a next test, per template. A process mostly uses two databases at a time. */
const MAX_FREE = 3;
/** Uses of a copy. Emptied tables leave empty files and rows of system catalogs, which end with the database. */
const MAX_USES = 100;
/** Maximum wait for a copy that is being cleaned. Afterwards a new copy costs less. */
const CLEANING_MS = 250;

export interface CleanCopiesDeps {
  readonly databases: Pick<OpenDatabases, "copy">;
  readonly postgres: Pick<PostgresProvider, "dsn">;
  readonly log: Logger;
  /** Renames a database with its record. Removes what it has outside PostgreSQL. */
  readonly rename: (from: string, to: string) => Promise<void>;
  /** Deletes a copy in the background. */
  readonly drop: (name: string) => void;
}

/** A copy of a template with its contents right after it was made. */
interface Copy {
  readonly template: string;
  readonly mark: DatabaseMark;
  uses: number;
}

/** The copies of one template that no test uses. */
interface Free {
  readonly clean: string[];
  readonly cleaning: Set<Promise<void>>;
}

/**
 * Copies of databases for tests. A used copy is cleaned and given to another test, because that costs a tenth of a new copy. A copy
 * with other tables, rows or connections than its template is deleted.
 */
export class CleanCopies {
  readonly #deps: CleanCopiesDeps;
  readonly #copies = new Map<string, Copy>();
  readonly #free = new Map<string, Free>();

  constructor(deps: CleanCopiesDeps) {
    this.#deps = deps;
  }

  /** Makes a copy or takes a clean one. Returns whether a test has used it before. @throws database_not_found, database_exists */
  async make(template: string, name: string): Promise<boolean> {
    const { databases, log, postgres } = this.#deps;
    const clean = await this.#take(template);
    if (clean !== undefined) {
      try {
        await this.#rename(clean, name);
        return true;
      } catch (error) {
        log.warn({ err: error, database: clean }, "a clean copy was not used");
        this.#drop(clean);
      }
    }
    await databases.copy(template, name);
    this.#copies.set(name, { template, mark: await markDatabase(postgres.dsn(name)), uses: 0 });
    return false;
  }

  /** Cleans a used copy in the background, for a next test. Returns false for another database, or if none is needed. */
  release(name: string): boolean {
    const copy = this.#copies.get(name);
    if (copy === undefined || copy.uses >= MAX_USES) return false;
    const free = this.#free.get(copy.template) ?? { clean: [], cleaning: new Set() };
    if (free.clean.length + free.cleaning.size >= MAX_FREE) return false;
    this.#free.set(copy.template, free);
    copy.uses += 1;
    const cleaning = this.#clean(name, copy, free).finally(() => free.cleaning.delete(cleaning));
    free.cleaning.add(cleaning);
    return true;
  }

  /** Forgets a database that is deleted, and deletes its clean copies. */
  forget(name: string): void {
    this.#copies.delete(name);
    const free = this.#free.get(name);
    this.#free.delete(name);
    for (const clean of free?.clean ?? []) this.#deps.drop(clean);
  }

  /** Waits until no copy is being cleaned. */
  async settle(): Promise<void> {
    await Promise.all([...this.#free.values()].flatMap(({ cleaning }) => [...cleaning]));
  }

  async #take(template: string): Promise<string | undefined> {
    const free = this.#free.get(template);
    if (free === undefined) return undefined;
    if (free.clean.length === 0 && free.cleaning.size > 0) await withinTime(Promise.race(free.cleaning), CLEANING_MS);
    return free.clean.shift();
  }

  /** Renames it first, so that late requests of its test do not find it. */
  async #clean(name: string, copy: Copy, free: Free): Promise<void> {
    const hidden = `test-free-${randomBytes(6).toString("hex")}`;
    try {
      await this.#rename(name, hidden);
      const isClean = await cleanDatabase(this.#deps.postgres.dsn(hidden), copy.mark);
      if (isClean && this.#free.get(copy.template) === free) free.clean.push(hidden);
      else this.#drop(hidden);
    } catch (error) {
      this.#deps.log.warn({ err: error, database: name }, "the database of a test was not cleaned");
      this.#drop(name);
      this.#drop(hidden);
    }
  }

  async #rename(from: string, to: string): Promise<void> {
    await this.#deps.rename(from, to);
    const copy = this.#copies.get(from);
    this.#copies.delete(from);
    if (copy !== undefined) this.#copies.set(to, copy);
  }

  #drop(name: string): void {
    this.#copies.delete(name);
    this.#deps.drop(name);
  }
}
