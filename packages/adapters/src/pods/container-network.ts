import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { appError } from "@appdb/contract/errors";
import { POD_ENVIRONMENT } from "./local-pods.ts";

/** Where a machine says who answers for names; the second, when the first names only a resolver of its own loopback. */
const RESOLVER_FILES = ["/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"];
const TIMEOUT_MS = 10_000;

/** Who answers for names here, as far as a container can reach them. */
export function findResolvers(files: readonly string[] = RESOLVER_FILES): string[] {
  for (const file of files) {
    const found = [...readIfThere(file).matchAll(/^nameserver\s+(\S+)/gm)].map(([, address = ""]) => address);
    const reachable = found.filter((address) => !/^127\.|^::1$|^fe80:/.test(address));
    if (reachable.length > 0) return reachable;
  }
  return [];
}

/**
 * Bounds the network of a container, before its program runs, from outside: nothing in there has any right over it.
 * `pid` is the container's first process as this machine knows it, `rules` are for `nft -f -`.
 * @throws pod_failed
 */
export async function boundNetwork(pid: number, rules: string): Promise<void> {
  const child = spawn("nsenter", ["--target", String(pid), "--net", "--", "nft", "-f", "-"], {
    env: POD_ENVIRONMENT,
    stdio: ["pipe", "ignore", "pipe"],
    timeout: TIMEOUT_MS,
    killSignal: "SIGKILL",
  });
  const said: string[] = [];
  child.stderr.setEncoding("utf8").on("data", (piece: string) => said.push(piece));
  child.stdin.on("error", () => undefined);
  child.stdin.end(rules);
  const [code] = await once(child, "close").catch((error: Error) => {
    said.push(error.message);
    return [null];
  });
  if (code === 0) return;
  throw appError("pod_failed", {
    detail: `The network of a container could not be bounded: ${said.join("").trim() || `nft ended with ${code}`}`,
  });
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    // machines without systemd-resolved have but one of them
    return "";
  }
}
