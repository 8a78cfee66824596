import { join } from "node:path";
import type { VolumeLayout } from "./local-driver.ts";
import type { PodAccess } from "./pod-driver.ts";
import { readLastLines, readPodLog } from "./pod-log.ts";

/** Reaches pods of this machine by their unix sockets, and reads their logs, from any process of the server's user. */
export function createLocalAccess(folder: VolumeLayout["folder"]): PodAccess {
  return {
    async endpoints(pod) {
      const sockets = folder({ kind: "sockets", pod });
      const socket = (name: string) => ({ kind: "socket", path: join(sockets, name) }) as const;
      return {
        api: socket("pod.sock"),
        link: socket("link.sock"),
        postgres: socket(".s.PGSQL.5432"),
      };
    },
    logs: (log, input) => readPodLog(folder({ kind: "logs", ...log }), input),
    lastLines: (log, since, count) => readLastLines(folder({ kind: "logs", ...log }), since, count),
  };
}
