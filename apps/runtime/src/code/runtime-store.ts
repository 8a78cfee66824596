import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { type Runtime, runtimeSchema } from "@appdb/contract/runtime";
import { writePrivateFile } from "@appdb/system/processes/private-files";
import * as z from "zod";

/** A fill that waits longer than this for its runtime counts as abandoned. */
const KEEP_MS = 30 * 24 * 3600 * 1000;

/**
 * Runtimes of fills, stored by content. A fill may run after its update's command has ended, and after a restart.
 * Runtimes contain the command's environment with its secrets, so the files are private.
 */
export interface RuntimeStore {
  /** Stores a runtime with its application file and returns its id. */
  save(runtime: Runtime, appFile: string | null): string;
  /** Finds a runtime by id; undefined when it is no longer stored. */
  find(id: string): KeptRuntime | undefined;
  /** Removes runtimes that were unused for a month. */
  clean(now: number): void;
}

const keptSchema = z.strictObject({
  ...runtimeSchema.shape,
  /** Relative to the project root; null in files of an older release. */
  app_file: z.string().nullable().default(null),
});

export interface KeptRuntime {
  readonly runtime: Runtime;
  readonly app_file: string | null;
}

export function createRuntimeStore(folder: string): RuntimeStore {
  return {
    save(runtime, appFile) {
      const text = JSON.stringify({ ...runtime, app_file: appFile });
      const id = createHash("sha256").update(text).digest("hex");
      const path = join(folder, `${id}.json`);
      const now = new Date();
      if (existsSync(path)) utimesSync(path, now, now);
      else writePrivateFile(path, text);
      return id;
    },
    find(id) {
      const path = join(folder, `${id}.json`);
      if (!/^[0-9a-f]{64}$/.test(id) || !existsSync(path)) return undefined;
      const { app_file: appFile, ...runtime } = keptSchema.parse(JSON.parse(readFileSync(path, "utf8")));
      return { runtime, app_file: appFile };
    },
    clean(now) {
      if (!existsSync(folder)) return;
      for (const name of readdirSync(folder)) {
        const path = join(folder, name);
        if (statSync(path).mtimeMs < now - KEEP_MS) rmSync(path, { force: true });
      }
    },
  };
}
