import { existsSync } from "node:fs";
import { join } from "node:path";
import { openEngine } from "./engine-client.ts";
import { POD_ENVIRONMENT } from "./local-pods.ts";
import type { MissingPart } from "./pod-driver.ts";

/** Where engines serve their API as root, unless the operator says another place. */
const SOCKETS = ["/run/podman/podman.sock", "/var/run/docker.sock"];
/** By which a container's network is bounded from outside, and the sandbox of the application's code is made in it. */
const PROGRAMS = { bwrap: "bubblewrap", nft: "nftables", nsenter: "util-linux" } as const;
const ANSWER_MS = 5_000;

/** The socket of the engine that pods are run by; undefined when there is none. */
export function findEngineSocket(named: string | undefined): string | undefined {
  return named ?? SOCKETS.find((path) => existsSync(path));
}

/** What this machine lacks to run pods as containers; `named` is the socket that the operator says. */
export async function checkContainers(named: string | undefined): Promise<readonly MissingPart[]> {
  const missing: MissingPart[] = [];
  if (process.platform !== "linux") missing.push({ what: "this is not Linux", remedy: "run the server on Linux" });
  if (process.getuid?.() !== 0) {
    const what = "the server is not root, and each database's files belong to a user of their own";
    missing.push({ what, remedy: "run the server as root" });
  }
  for (const [program, from] of Object.entries(PROGRAMS)) {
    if (isInstalled(program)) continue;
    missing.push({ what: `there is no program ${program}`, remedy: `apt-get install ${from}` });
  }
  const wrong = await whatIsWrong(findEngineSocket(named));
  if (wrong !== undefined) missing.push(wrong);
  return missing;
}

async function whatIsWrong(socket: string | undefined): Promise<MissingPart | undefined> {
  if (socket === undefined) {
    return {
      what: `no container engine serves its API at ${SOCKETS.join(" or ")}`,
      remedy:
        "apt-get install podman runc; systemctl enable --now podman.socket; or name its socket: SERVICE_ENGINE_SOCKET",
    };
  }
  const { docker } = await openEngine(socket, ANSWER_MS);
  try {
    const about: unknown = await docker.info();
    if (!JSON.stringify(about).includes('"name=rootless"')) return undefined;
    return { what: `the container engine at ${socket} is not root`, remedy: "name one that is: SERVICE_ENGINE_SOCKET" };
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    return {
      what: `the container engine at ${socket} does not answer (${said})`,
      remedy: "start it, or name another socket: SERVICE_ENGINE_SOCKET",
    };
  }
}

function isInstalled(program: string): boolean {
  return POD_ENVIRONMENT.PATH.split(":").some((folder) => existsSync(join(folder, program)));
}
