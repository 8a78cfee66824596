import type { Dir } from "node:fs";
import { chmod, lstat, opendir } from "node:fs/promises";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import type { PodHealth, Resources } from "@appdb/contract/pod-spec";
import type { MediaUse } from "@appdb/engine/media/media-objects";
import type { Clock, Logger } from "@appdb/engine/ports";
import { COPIES_FOLDER } from "@appdb/postgres/cluster/before-upgrade";
import { walBudgetMb } from "@appdb/postgres/cluster/postgres-settings";
import type { ServerReserve } from "./server-reserve.ts";

const MB = 1024 * 1024;
const GB = 1024 * MB;
/** Maximum write rate: space that is free now does not fill up before the next check. */
const FASTEST_BYTES_PER_S = 200 * MB;
const SOONEST_MS = 1_000;
const LATEST_MS = 30_000;
/** Clients learn the room from here on, in steps, so that PostgreSQL reads its settings seldom. */
const TOLD_BYTES = 4 * GB;
const TOLD_STEP_BYTES = 8 * MB;
/** After this time an unused database no longer grows noticeably. */
const UNUSED_MS = 300_000;

export interface DiskUse {
  readonly data_bytes: number;
  readonly wal_bytes: number;
}

export interface DiskLimits {
  readonly limit_bytes: number;
  /** Budget of the write-ahead log in bytes. */
  readonly wal_bytes: number;
  /** Writes are refused this many bytes before the limit, because running ones continue. */
  readonly reserve_bytes: number;
}

/** Divides a disk into budgets. */
export function diskLimits(resources: Pick<Resources, "disk_gb">): DiskLimits {
  const limitBytes = resources.disk_gb * GB;
  return {
    limit_bytes: limitBytes,
    wal_bytes: walBudgetMb(resources) * MB,
    reserve_bytes: Math.min(Math.floor(limitBytes / 20), 512 * MB),
  };
}

/**
 * Bytes that may still be written; full at 0 or below. The log counts with its budget or its size, whichever is larger.
 */
export function roomOf({ data_bytes: dataBytes, wal_bytes: walBytes }: DiskUse, limits: DiskLimits): number {
  return limits.limit_bytes - limits.reserve_bytes - dataBytes - Math.max(walBytes, limits.wal_bytes);
}

/** Time until the next check: before the space can be used up, at most half a minute. */
export function nextLook(roomBytes: number): number {
  return Math.min(LATEST_MS, Math.max(SOONEST_MS, (Math.max(0, roomBytes) / FASTEST_BYTES_PER_S) * 1_000));
}

type DescribedDisk = Pick<
  PodHealth,
  | "disk_bytes"
  | "disk_limit_bytes"
  | "is_disk_full"
  | "media_bytes"
  | "media_objects"
  | "is_media_in_bucket"
  | "media_limit_bytes"
  | "measured_at"
>;

export interface DiskGuardDeps {
  /** All measured folders, the cluster's folder first. */
  readonly folders: readonly [string, ...string[]];
  /** Reads what the database's own media store holds, which has too many files to visit. */
  readMedia(): Promise<MediaUse>;
  /** Whether its objects are in the operator's bucket, where they use no disk. */
  readonly is_media_in_bucket: boolean;
  /** Maximum bytes of these objects, if they have a limit of their own. */
  readonly media_limit_bytes: number | undefined;
  readonly uri: string;
  /** The address of its media store. */
  readonly media_uri: string;
  readonly resources: Pick<Resources, "disk_gb">;
  readonly log: Logger;
  readonly clock: Clock;
  /** Time of the last use of the database; now while it is in use. */
  usedAt(): number;
  /** Makes PostgreSQL refuse writes that bypass this guard, such as those of services. */
  refuseWrites(isFull: boolean): Promise<void>;
  /** Files without a name, which are not in the measured folders. */
  readonly spools: { readonly bytes: number };
  /** The reserve of the server's disk, which bounds writes too. */
  readonly reserve: Pick<ServerReserve, "admit" | "check">;
  /** Tells PostgreSQL's clients how many bytes may still be written; undefined for enough. */
  tellRoom(bytes: number | undefined): Promise<void>;
}

/**
 * Refuses writes before a database has used up its disk; reads continue. Checks regularly, more often when space is
 * low.
 */
export class DiskGuard implements Disposable {
  readonly #deps: DiskGuardDeps;
  readonly #limits: DiskLimits;
  #use: DiskUse = { data_bytes: 0, wal_bytes: 0 };
  #media: MediaUse = { objects: 0, bytes: 0 };
  /** When the last measurement began, by `performance.now()`. */
  #measuredAt = 0;
  /** The same for people. */
  #measuredTime: string | null = null;
  #isFull = false;
  /** The last value set in PostgreSQL. */
  #isTold: boolean | undefined;
  /** The room that was told last; null before the first time. */
  #toldRoom: number | undefined | null = null;
  #timer: NodeJS.Timeout | undefined;
  #watching: Promise<void> | undefined;
  #checkedAt = 0;
  #isEnded = false;

  constructor(deps: DiskGuardDeps) {
    this.#deps = deps;
    this.#limits = diskLimits(deps.resources);
  }

  /** Checks now and repeatedly until disposed. Resolves after the first check, which later calls share. */
  watch(): Promise<void> {
    this.#watching ??= this.#watch();
    return this.#watching;
  }

  /** Checks that a write may start. @throws disk_full */
  async admit(): Promise<void> {
    await this.#deps.reserve.admit();
    await this.watch();
    this.check();
  }

  async #watch(): Promise<void> {
    const { clock, usedAt } = this.#deps;
    const now = clock.now();
    if (usedAt() >= this.#checkedAt || now - this.#checkedAt >= UNUSED_MS) {
      this.#checkedAt = now;
      await this.#look();
    }
    if (this.#isTold !== this.#isFull || this.#toldRoom !== this.#shownRoom()) await this.#notify();
    if (this.#isEnded) return;
    this.#timer = setTimeout(() => void this.#watch(), nextLook(roomOf(this.#use, this.#limits)));
    this.#timer.unref();
  }

  async #look(): Promise<void> {
    const { folders, is_media_in_bucket: isInBucket, log, readMedia, uri } = this.#deps;
    const begunAt = performance.now();
    const begunTime = new Date().toISOString();
    try {
      this.#media = await readMedia();
    } catch (error) {
      log.warn({ err: error }, "the media store could not be measured: its last size counts");
    }
    try {
      const files = await measureFolders(folders);
      this.#use = { ...files, data_bytes: files.data_bytes + (isInBucket ? 0 : this.#media.bytes) };
      this.#measuredAt = begunAt;
      this.#measuredTime = begunTime;
    } catch (error) {
      if (!hasCode(error, "ENAMETOOLONG", "EACCES")) {
        // the last result stays valid until the next check
        log.warn({ err: error }, "the disk could not be measured");
        return;
      }
      log.warn({ err: error }, "a folder is too deep or closed and cannot be measured: the disk counts as full");
      this.#use = { data_bytes: this.#limits.limit_bytes, wal_bytes: 0 };
    }
    const isFull = roomOf(this.#use, this.#limits) <= 0;
    if (isFull !== this.#isFull) {
      const fields = { uri, ...this.#use, limit_bytes: this.#limits.limit_bytes };
      log.info(fields, isFull ? "the disk is full and writes are refused" : "the disk has space again");
    }
    this.#isFull = isFull;
  }

  async #notify(): Promise<void> {
    const isFull = this.#isFull;
    const room = this.#shownRoom();
    try {
      if (this.#isTold !== isFull) await this.#deps.refuseWrites(isFull);
      this.#isTold = isFull;
      if (this.#toldRoom !== room) await this.#deps.tellRoom(room);
      this.#toldRoom = room;
    } catch (error) {
      // retried after the next check
      this.#deps.log.warn({ err: error }, "PostgreSQL could not be told whether the disk is full");
    }
  }

  /** Bytes that may still be written, as measured last and without the spools. */
  async room(): Promise<{ readonly bytes: number; readonly measured_at: number }> {
    await this.watch();
    return { bytes: this.#room(), measured_at: this.#measuredAt };
  }

  /** Checks by the last result that a write may continue. @throws disk_full */
  check(): void {
    this.#deps.reserve.check();
    if (!this.#isFull) return;
    const { media_uri: mediaUri, resources, uri } = this.#deps;
    const bytes = this.#bytes();
    throw appError("disk_full", {
      detail: `The disk of ${uri} is full: ${(bytes / GB).toFixed(2)} GB are used${this.#describeMedia()}, disk_gb is ${resources.disk_gb}. Rows can be read, but writes are refused.`,
      hint: `See what its files use: cli media du ${mediaUri}. Raise disk_gb in the database's entry (cli db update ${uri}), or drop tables. Files of deleted rows free their space after two days.`,
      meta: { disk_bytes: bytes, disk_gb: resources.disk_gb },
    });
  }

  describe(): DescribedDisk {
    return {
      disk_bytes: this.#bytes(),
      disk_limit_bytes: this.#limits.limit_bytes,
      is_disk_full: this.#isFull,
      media_bytes: this.#media.bytes,
      media_objects: this.#media.objects,
      is_media_in_bucket: this.#deps.is_media_in_bucket,
      media_limit_bytes: this.#deps.media_limit_bytes ?? null,
      measured_at: this.#measuredTime,
    };
  }

  [Symbol.dispose](): void {
    this.#isEnded = true;
    clearTimeout(this.#timer);
  }

  #describeMedia(): string {
    const { bytes, objects } = this.#media;
    if (objects === 0 || this.#deps.is_media_in_bucket) return "";
    return `, ${(bytes / GB).toFixed(2)} GB of them by ${objects} media files`;
  }

  #shownRoom(): number | undefined {
    const room = Math.max(0, this.#room());
    return room >= TOLD_BYTES ? undefined : Math.floor(room / TOLD_STEP_BYTES) * TOLD_STEP_BYTES;
  }

  #room(): number {
    return roomOf(this.#use, this.#limits) - this.#deps.spools.bytes;
  }

  #bytes(): number {
    return this.#use.data_bytes + this.#use.wal_bytes;
  }
}

/**
 * Disk usage of the files below folders, with PostgreSQL's write-ahead log separate. Copies from before an upgrade do
 * not count, because the operator made them. Folders without permissions are opened; otherwise a function could hide
 * files there.
 */
export async function measureFolders(folders: readonly [string, ...string[]]): Promise<DiskUse> {
  const copies = join(folders[0], "postgres", COPIES_FOLDER);
  let [dataBytes, walBytes] = [0, 0];
  const walk = async (path: string, isWal: boolean): Promise<void> => {
    for await (const entry of await openFolder(path)) {
      const below = join(path, entry.name);
      if (entry.isDirectory()) {
        if (below === copies) continue;
        await walk(below, isWal || entry.name === "pg_wal");
        continue;
      }
      // PostgreSQL constantly creates and removes files
      const bytes = (await lstat(below).catch(() => undefined))?.blocks ?? 0;
      if (isWal) walBytes += bytes * 512;
      else dataBytes += bytes * 512;
    }
  };
  for (const folder of folders) await walk(folder, false);
  return { data_bytes: dataBytes, wal_bytes: walBytes };
}

async function openFolder(path: string): Promise<Dir | []> {
  try {
    return await opendir(path);
  } catch (error) {
    if (isDenied(error)) return await openClosed(path);
    if (isMissing(error)) return [];
    throw error;
  }
}

/**
 * Another user's folder does not count, because no function can have written there.
 * @throws EACCES for one of ours that something closes again at once
 */
async function openClosed(path: string): Promise<Dir | []> {
  try {
    await chmod(path, 0o700);
  } catch (error) {
    if (isDenied(error) || isMissing(error)) return [];
    throw error;
  }
  try {
    return await opendir(path);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return hasCode(error, "ENOENT");
}

function isDenied(error: unknown): boolean {
  return hasCode(error, "EACCES", "EPERM", "EROFS");
}

function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}
