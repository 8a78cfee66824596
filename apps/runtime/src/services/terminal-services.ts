import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writePrivateFile } from "@appdb/system/processes/private-files";
import { identifyProcess, isProcessAlive } from "@appdb/system/processes/process-identity";
import * as z from "zod";

const terminalServicesSchema = z.strictObject({
  /** The process of `cli service run`. */
  process: z.strictObject({ pid: z.int(), started: z.string() }),
  target: z.string(),
  services: z.array(z.string()),
  app_file: z.string(),
  project_root: z.string(),
});
type Stored = z.infer<typeof terminalServicesSchema>;

/** Services that one `cli service run` serves. */
export type TerminalServices = Omit<Stored, "process">;

/** Commands `cli service run` of a home: a file for each, so that the next daemon finds them too. */
export interface TerminalStore {
  /** Records what a command serves, until its process ends. @throws disk_full, daemon_failed */
  save(pid: number, served: TerminalServices): void;
  /** What running commands serve from a target. @throws daemon_failed when the process table is unreadable */
  list(target: string): TerminalServices[];
}

export function createTerminalStore(folder: string): TerminalStore {
  return {
    save(pid, served) {
      const process = identifyProcess(pid);
      if (process === undefined) return;
      writePrivateFile(join(folder, `${pid}.json`), JSON.stringify({ process, ...served } satisfies Stored));
    },
    list(target) {
      const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".json")) : [];
      return names.flatMap((name) => {
        const stored = readStored(join(folder, name));
        if (stored?.target !== target) return [];
        const { process: _process, ...served } = stored;
        return served;
      });
    },
  };
}

/** Removes the file of an ended command, and a file that another version wrote. */
function readStored(path: string): Stored | undefined {
  const { data } = terminalServicesSchema.safeParse(parseJson(readFileSync(path, "utf8")));
  if (data !== undefined && isProcessAlive(data.process)) return data;
  rmSync(path, { force: true });
  return undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // not what this version writes
    return undefined;
  }
}
