import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { type Runtime, runtimeSchema } from "@appdb/contract/runtime";
import { writePrivateFile } from "@appdb/system/processes/private-files";
import * as z from "zod";

/** A fill that waits longer than this for its runtime has been forgotten by its person. */
const KEEP_MS = 30 * 24 * 3600 * 1000;

/**
 * The runtimes of fills, by content: a fill runs when its update's command has ended, and after a restart too. They hold
 * the environment of the command, secrets among it, so the files are private.
 */
export interface RuntimeStore {
  /** Keeps a runtime with the application file that it runs, and returns its id. */
  save(runtime: Runtime, appFile: string | null): string;
  /** The runtime of an id, undefined when it is not kept any more. */
  find(id: string): KeptRuntime | undefined;
  /** Removes the runtimes that nobody has used for a month. */
  clean(now: number): void;
}

const keptSchema = z.strictObject({
  ...runtimeSchema.shape,
  /** From the project root; null in what an older release has kept. */
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
