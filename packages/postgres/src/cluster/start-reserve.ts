import { statfsSync } from "node:fs";
import { lstat, open, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "@appdb/contract/errors";
import type { Logger } from "@appdb/engine/ports";
import { isDiskFull } from "@appdb/system/files/is-disk-full";
import { withTenantFolder } from "@appdb/system/files/tenant-files";
import { withClient } from "./database-admin.ts";

const MB = 1024 ** 2;
/** The file next to the cluster whose space is given back when the disk is too full for a start. */
export const START_RESERVE = "start-reserve";
/** Two segments of the write-ahead log: recovery, its checkpoint and the first connections write no more. */
const RESERVE_BYTES = 32 * MB;
/** Only a disk with less space needs the reserve. Another one costs nothing. */
const NEEDED_BELOW_BYTES = 2_048 * MB;
/** The reserves of many clusters leave this free, or a share of a small disk. */
const SPARE_BYTES = 512 * MB;
/** A start with less free space would end in the middle of its recovery. */
const LEAST_BYTES = 16 * MB;
/** PostgreSQL writes as little as possible below this, or below a share of a small disk. */
const LOW_BYTES = 256 * MB;
const LOW_SHARE = 8;
const SOON_MS = 1_000;
const LATE_MS = 10_000;
/** Where `alter system` keeps its settings. */
const AUTO_CONF = "postgresql.auto.conf";

/**
 * Gives back the space of a cluster's reserve, for a start of its pod, which writes files too. A tenant can write the
 * cluster's parent folder. Returns the bytes.
 */
export async function giveBackReserve(folder: string): Promise<number> {
  const given = await withTenantFolder(folder, async (path) => {
    const file = join(path, START_RESERVE);
    const found = await lstat(file).catch(() => undefined);
    if (found?.isFile() !== true) return 0;
    await rm(file, { force: true });
    return found.size;
  });
  return given ?? 0;
}

export interface StartReserveDeps {
  /** Parent of the cluster's folder. */
  readonly folder: string;
  readonly log: Logger;
  /** The superuser's connection string. */
  dsn(): string;
}

/**
 * Lets PostgreSQL start on a full disk. A file holds space that only a start gets back. While the disk is nearly full,
 * autovacuum is off and old segments of the log are removed, because both would use up that space.
 */
export class StartReserve {
  readonly #deps: StartReserveDeps;
  /** The last value set in PostgreSQL. */
  #isSaving: boolean | undefined;
  #looking: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #failure: string | undefined;

  constructor(deps: StartReserveDeps) {
    this.#deps = deps;
  }

  get #path(): string {
    return join(this.#deps.folder, START_RESERVE);
  }

  /** Gives the space back before a start that would need it. */
  async prepare(): Promise<void> {
    if (this.#space().free_bytes < LEAST_BYTES) await this.#giveBack();
  }

  /** Gives the space back after a start that failed. Returns whether a full disk was the cause and there was a reserve. */
  async rescue(error: unknown): Promise<boolean> {
    return error instanceof AppError && error.code === "disk_full" && (await this.#giveBack());
  }

  /** Looks after the disk until `stop`. PostgreSQL is up. */
  watch(dataFolder: string): void {
    clearTimeout(this.#timer);
    const again = (): void => {
      const timer = this.#timer;
      this.#looking = this.#look(dataFolder).then((pause) => {
        // stopped meanwhile
        if (this.#timer !== timer) return;
        this.#timer = setTimeout(again, pause);
        this.#timer.unref();
      });
    };
    this.#timer = setTimeout(again, 0);
  }

  /** Ends after a look that is under way. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#looking;
  }

  /** Returns the time until the next look. */
  async #look(dataFolder: string): Promise<number> {
    let pause = SOON_MS;
    try {
      const { bytes, free_bytes: freeBytes } = this.#space();
      if (freeBytes > NEEDED_BELOW_BYTES) pause = LATE_MS;
      // it survives the process that set it
      this.#isSaving ??= (await readFile(join(dataFolder, AUTO_CONF), "utf8")).includes("\nautovacuum = 'off'\n");
      await this.#save(freeBytes < Math.min(LOW_BYTES, bytes / LOW_SHARE));
      const size = (await stat(this.#path).catch(() => undefined))?.size;
      const spare = Math.max(2 * RESERVE_BYTES, Math.min(SPARE_BYTES, bytes / LOW_SHARE));
      if (size === undefined && freeBytes < NEEDED_BELOW_BYTES && freeBytes >= spare + RESERVE_BYTES) {
        await this.#fill();
        // others filled theirs at the same time
        if (this.#space().free_bytes < spare) await rm(this.#path, { force: true });
      }
      // a little more, so that it is not made and removed in turns
      if (size !== undefined && freeBytes > 2 * NEEDED_BELOW_BYTES) await rm(this.#path, { force: true });
      this.#failure = undefined;
    } catch (error) {
      // retried after the next look
      const message = error instanceof Error ? error.message : String(error);
      if (this.#failure !== message)
        this.#deps.log.warn({ err: error }, "the reserve of PostgreSQL was not looked after");
      this.#failure = message;
    }
    return pause;
  }

  /** Sets what PostgreSQL does on its own. */
  async #save(isSaving: boolean): Promise<void> {
    if (this.#isSaving === isSaving) return;
    await withClient(this.#deps.dsn(), async (client) => {
      for (const name of ["autovacuum", "wal_recycle"])
        await client.query(isSaving ? `alter system set ${name} = off` : `alter system reset ${name}`);
      await client.query("select pg_reload_conf()");
      if (!isSaving) return;
      await client.query(
        // those that prevent wraparound run whether autovacuum is on or off
        "select pg_cancel_backend(pid) from pg_stat_activity where backend_type = 'autovacuum worker' and query not like '%to prevent wraparound%'",
      );
      await client.query("checkpoint");
    });
    this.#isSaving = isSaving;
    if (isSaving) this.#deps.log.warn(this.#space(), "the disk is nearly full: autovacuum is off until it has space");
  }

  async #fill(): Promise<void> {
    const file = await open(this.#path, "w", 0o600);
    try {
      const piece = Buffer.alloc(MB);
      for (let at = 0; at < RESERVE_BYTES; at += MB) await file.writeFile(piece);
      await file.sync();
    } catch (error) {
      await rm(this.#path, { force: true });
      if (!isDiskFull(error)) throw error;
    } finally {
      await file.close();
    }
  }

  async #giveBack(): Promise<boolean> {
    if ((await stat(this.#path).catch(() => undefined)) === undefined) return false;
    this.#deps.log.warn(this.#space(), "the disk is full: PostgreSQL gets its reserve back to start");
    await rm(this.#path, { force: true });
    return true;
  }

  #space(): { readonly bytes: number; readonly free_bytes: number } {
    const { bavail, blocks, bsize } = statfsSync(this.#deps.folder);
    return { bytes: blocks * bsize, free_bytes: bavail * bsize };
  }
}
