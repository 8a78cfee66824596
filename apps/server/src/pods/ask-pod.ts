import { request } from "node:http";
import type { Secret } from "@appdb/adapters/secret";
import { type PodHealth, podHealthSchema } from "@appdb/contract/pod-spec";
import { podTreesSchema } from "@appdb/contract/routes/pod";
import { POD_ROUTES } from "@appdb/contract/routes/pod-paths";
import { connectPod } from "./connect-pod.ts";

const HEALTH_TIMEOUT_MS = 2_000;
const MOST_BYTES = 100_000;

/** Asks a pod how it is; undefined when nobody answers in time. What is not ready yet answers too, with another state. */
export async function askHealth(socket: string, token: Secret): Promise<PodHealth | undefined> {
  const text = await get(socket, POD_ROUTES.health.path, token).catch(() => undefined);
  return text === undefined ? undefined : podHealthSchema.safeParse(parse(text)).data;
}

/** Digests of the trees that a database's tables and jobs still need; undefined when nobody answers. */
export async function askTrees(socket: string, token: Secret): Promise<readonly string[] | undefined> {
  const text = await get(socket, POD_ROUTES.treeList.path, token).catch(() => undefined);
  return text === undefined ? undefined : podTreesSchema.safeParse(parse(text)).data?.trees;
}

function get(socketPath: string, path: string, token: Secret): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token.reveal()}` };
    // a connection for this request alone: a kept one would keep the pod awake, and outlive it
    const createConnection = () => connectPod(socketPath, HEALTH_TIMEOUT_MS);
    const asked = request({ createConnection, path, headers, timeout: HEALTH_TIMEOUT_MS }, (answer) => {
      const pieces: Buffer[] = [];
      let bytes = 0;
      answer.on("data", (piece: Buffer) => {
        bytes += piece.length;
        if (bytes > MOST_BYTES) asked.destroy(new Error("The pod's answer is too long."));
        else pieces.push(piece);
      });
      answer.on("end", () => resolve(Buffer.concat(pieces).toString("utf8")));
      answer.on("error", reject);
    });
    asked.on("timeout", () => asked.destroy(new Error("The pod does not answer.")));
    asked.on("error", reject);
    asked.end();
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // another program's answer, or a cut one: as good as none
    return undefined;
  }
}
