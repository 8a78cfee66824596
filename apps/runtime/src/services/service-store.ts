import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { manifestSchema } from "@appdb/contract/manifest";
import { runtimeSchema } from "@appdb/contract/runtime";
import { fileNameOf } from "@appdb/system/files/file-name";
import { writePrivateFile } from "@appdb/system/processes/private-files";
import type { ProcessIdentity } from "@appdb/system/processes/process-identity";
import * as z from "zod";

/** A service as its last `service update` defined it. Its runtime contains the environment, so files are private. */
export const storedServiceSchema = z.strictObject({
  format: z.literal(1),
  target: z.string(),
  service: z.string(),
  /** Stays the same across stops, restarts and crashes. */
  port: z.int().min(1).max(65535),
  desired: z.enum(["running", "stopped"]),
  manifest: manifestSchema,
  runtime: runtimeSchema,
  updated_at: z.string(),
});
export type StoredService = z.infer<typeof storedServiceSchema>;

const processSchema = z.strictObject({ pid: z.int(), started: z.string() });

export interface UnreadableService {
  readonly path: string;
  readonly reason: string;
}

/** Services on disk: `<target>/<service>.json` and, while running, `<target>/<service>.process`. */
export interface ServiceStore {
  /** All services and all invalid files: one bad file must not hide the others. */
  readAll(): { services: StoredService[]; unreadable: UnreadableService[] };
  save(service: StoredService): void;
  remove(target: string, service: string): void;
  /** Records the process of a service, so that the next daemon finds it if this one is killed. */
  saveProcess(target: string, service: string, identity: ProcessIdentity | undefined): void;
  findProcess(target: string, service: string): ProcessIdentity | undefined;
}

export function createServiceStore(folder: string): ServiceStore {
  const path = (target: string, service: string, kind: "json" | "process") =>
    join(folder, ...target.split("/").map((part) => fileNameOf(part)), `${fileNameOf(service)}.${kind}`);
  return {
    readAll() {
      const services: StoredService[] = [];
      const unreadable: UnreadableService[] = [];
      for (const file of listFiles(folder)) {
        try {
          services.push(storedServiceSchema.parse(JSON.parse(readFileSync(file, "utf8"))));
        } catch (error) {
          unreadable.push({ path: file, reason: error instanceof Error ? error.message : String(error) });
        }
      }
      return { services, unreadable };
    },
    save(service) {
      writePrivateFile(path(service.target, service.service, "json"), JSON.stringify(service));
    },
    remove(target, service) {
      rmSync(path(target, service, "process"), { force: true });
      rmSync(path(target, service, "json"), { force: true });
      removeEmptyFolders(dirname(path(target, service, "json")), folder);
    },
    saveProcess(target, service, identity) {
      const file = path(target, service, "process");
      if (identity === undefined) rmSync(file, { force: true });
      else writePrivateFile(file, JSON.stringify(identity));
    },
    findProcess(target, service) {
      const file = path(target, service, "process");
      if (!existsSync(file)) return undefined;
      const found = processSchema.safeParse(JSON.parse(readFileSync(file, "utf8")));
      return found.success ? found.data : undefined;
    },
  };
}

function listFiles(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".json"))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

function removeEmptyFolders(from: string, root: string): void {
  for (let folder = from; folder !== root && folder.startsWith(root); folder = dirname(folder)) {
    if (readdirSync(folder).length > 0) return;
    rmdirSync(folder);
  }
}
