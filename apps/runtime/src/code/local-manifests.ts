import { createHash } from "node:crypto";
import { cpSync, existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { MANIFEST_VERSION, type Manifest, manifestSchema } from "@appdb/contract/manifest";
import { parseLocalTarget } from "@appdb/contract/names";
import { isProgramFunction } from "@appdb/contract/program-code";
import { VERSION } from "@appdb/contract/version";
import type { Logger } from "@appdb/engine/ports";
import { folderSchema } from "@appdb/engine/target";
import { readManifest } from "@appdb/python-runtime/workers/read-manifest";
import { makePrivateFolder } from "@appdb/system/files/private-folder";
import { writePrivateFile } from "@appdb/system/processes/private-files";
import { type ChangeCode, changeCodeSchema, joined, NO_CODE, without, withoutUnused } from "./change-code.ts";
import type { RuntimeStore } from "./runtime-store.ts";

/**
 * Manifests of the last updates of local targets. Unlike a hosted runtime, a local one stays the same when its files
 * change, so that each target has its own.
 */
export interface LocalManifests {
  store(runtimeId: string, target: string, manifest: Manifest): void;
  /** Keeps the functions of a change of one table, which no application file may have. Functions of programs are kept
   *  while a column calls them. */
  keepCode(target: string, code: ChangeCode, isCalled: (id: string) => boolean): void;
  /** Copies what a table that moves needs to another target, which keeps what it has. */
  copy(runtimeId: string, from: string, to: string): void;
  /** Gives a new database a folder of its own, with what another such database has. */
  separate(database: string, copyOf: string | null): void;
  /** Removes the folder of its own. */
  forget(database: string): void;
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
  const ownFolder = (database: string) => join(folder, database);
  const fileOf = (runtimeId: string, target: string) => {
    const own = ownFolder(parseLocalTarget(target).database);
    const isOwn = existsSync(own);
    // files of an own folder also fit its copies
    const place = isOwn ? folderSchema(target) : target;
    const name = createHash("sha256").update(`${runtimeId}\n${place}`).digest("hex");
    return join(isOwn ? own : folder, `${name}.json`);
  };
  const codeOf = (target: string): ChangeCode | undefined => {
    const file = fileOf("changes", target);
    return existsSync(file) ? changeCodeSchema.parse(JSON.parse(readFileSync(file, "utf8"))) : undefined;
  };
  const writeCode = (target: string, code: ChangeCode) =>
    writePrivateFile(fileOf("changes", target), JSON.stringify(code));
  const read = async (runtimeId: string, target: string, isKept: boolean): Promise<Manifest> => {
    const file = fileOf(runtimeId, target);
    if (existsSync(file)) return manifestSchema.parse(JSON.parse(readFileSync(file, "utf8")));
    if (isKept) return emptyManifest();
    const found = runtimes.find(runtimeId);
    if (found === undefined || found.app_file === null) throw notStored(target);
    const onOutput = (text: string) => log.info({ line: text.trimEnd() }, "output");
    return manifestSchema.parse(await readManifest({ runtime: found.runtime, app_file: found.app_file, onOutput }));
  };
  return {
    store(runtimeId, target, manifest) {
      writePrivateFile(fileOf(runtimeId, target), JSON.stringify(manifest));
      const code = codeOf(target);
      // the file's own functions are newer
      if (code !== undefined) writeCode(target, without(code, manifest));
    },
    copy(runtimeId, from, to) {
      const [file, copied] = [fileOf(runtimeId, from), fileOf(runtimeId, to)];
      if (existsSync(file) && !existsSync(copied)) writePrivateFile(copied, readFileSync(file, "utf8"));
      const code = codeOf(from);
      if (code !== undefined) writeCode(to, joined(code, codeOf(to) ?? NO_CODE));
    },
    separate(database, copyOf) {
      makePrivateFolder(folder);
      if (copyOf === null) makePrivateFolder(ownFolder(database));
      else cpSync(ownFolder(copyOf), ownFolder(database), { recursive: true });
    },
    forget(database) {
      rmSync(ownFolder(database), { recursive: true, force: true });
    },
    keepCode(target, code, isCalled) {
      const { functions, resource_pools: pools } = joined(codeOf(target) ?? NO_CODE, code);
      const kept = functions.filter(({ id }) => !isProgramFunction(id) || isCalled(id));
      writeCode(target, withoutUnused({ functions: kept, resource_pools: pools }));
    },
    async applied(runtimeId, target) {
      const code = codeOf(target);
      const manifest = await read(runtimeId, target, code !== undefined);
      return code === undefined ? manifest : { ...manifest, ...joined(manifest, code) };
    },
  };
}

/** The manifest of tables that no application file declares. */
export function emptyManifest(): Manifest {
  return manifestSchema.parse({
    manifest_version: MANIFEST_VERSION,
    library_version: VERSION,
    python_version: "",
    app_file: "",
    tables: [],
    functions: [],
    services: [],
    modules: [],
  });
}

function notStored(target: string): Error {
  return appError("schema_mismatch", {
    detail: `The last update of ${target} is not stored any more; rows cannot be computed without it.`,
    hint: `Update the tables: cli schema update <app file> ${target}`,
    meta: { target },
  });
}
