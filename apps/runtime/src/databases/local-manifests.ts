import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { type Manifest, manifestSchema } from "@appdb/contract/manifest";
import type { Logger } from "@appdb/engine/ports";
import { readManifest } from "@appdb/python-runtime/workers/read-manifest";
import { writePrivateFile } from "@appdb/system/processes/private-files";
import type { RuntimeStore } from "./runtime-store.ts";

/**
 * Manifests of the last updates of local targets. Unlike a hosted runtime, a local one stays the same when its files
 * change, so that each target has its own.
 */
export interface LocalManifests {
  store(runtimeId: string, target: string, manifest: Manifest): void;
  /** The manifest of a target's last update; read from the application file when it is not stored.
   *  @throws schema_mismatch when the runtime is gone; errors of readManifest */
  applied(runtimeId: string, target: string): Promise<Manifest>;
}

export function createLocalManifests({
  folder,
  log,
  runtimes,
}: {
  readonly folder: string;
  readonly log: Logger;
  readonly runtimes: Pick<RuntimeStore, "find">;
}): LocalManifests {
  const fileOf = (runtimeId: string, target: string) =>
    join(folder, `${createHash("sha256").update(`${runtimeId}\n${target}`).digest("hex")}.json`);
  return {
    store: (runtimeId, target, manifest) => writePrivateFile(fileOf(runtimeId, target), JSON.stringify(manifest)),
    async applied(runtimeId, target) {
      const file = fileOf(runtimeId, target);
      if (existsSync(file)) return manifestSchema.parse(JSON.parse(readFileSync(file, "utf8")));
      const found = runtimes.find(runtimeId);
      if (found === undefined || found.app_file === null) throw notStored(target);
      const onOutput = (text: string) => log.info({ line: text.trimEnd() }, "output");
      return manifestSchema.parse(await readManifest({ runtime: found.runtime, app_file: found.app_file, onOutput }));
    },
  };
}

function notStored(target: string): Error {
  return appError("schema_mismatch", {
    detail: `The last update of ${target} is not stored any more; rows cannot be computed without it.`,
    hint: `Update the tables: cli schema update <app file> ${target}`,
    meta: { target },
  });
}
