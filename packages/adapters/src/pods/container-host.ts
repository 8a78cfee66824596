import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { type ContainerGroups, findContainerGroups } from "./container-groups.ts";
import { ensureBaseImage } from "./container-image.ts";
import { boundNetwork, findResolvers } from "./container-network.ts";
import { seccompProfile } from "./container-seccomp.ts";
import type { ContainerInput } from "./container-spec.ts";
import { type Engine, isPodman, openEngine } from "./engine-client.ts";
import { findEngineSocket } from "./find-engine.ts";
import type { PodDriverInput, PodSpec } from "./pod-driver.ts";
import { allotUser, POD_USERS, retireUser } from "./pod-users.ts";
import { writeShown } from "./sandbox-files.ts";
import { type AllowedHost, machineAddresses, networkRules } from "./sandbox-network.ts";

/** AppArmor's own rules for containers forbid mounts, of which the sandbox of the application's code is made. */
const APPARMOR = "/sys/module/apparmor/parameters/enabled";

/** What all containers of a driver are made with. */
export interface ContainerHost {
  readonly folder: string;
  readonly engine: Engine;
  /** Tells the containers of this driver from those of others. */
  readonly owner: string;
  /** What the engine is, and has; asked once. @throws pod_failed */
  about(): Promise<EngineAbout>;
  userOf(owner: string): number;
  retire(owner: string): void;
  /** Options of the engine's security. */
  security(level: "pod" | "code"): Promise<string[]>;
}

interface EngineAbout {
  readonly image: string;
  readonly groups: ContainerGroups | undefined;
  readonly is_podman: boolean;
}

/** Loads the engine's client; the engine is not asked yet. @throws pods_unavailable where there is none */
export async function openContainerHost(input: PodDriverInput): Promise<ContainerHost> {
  const { engine_socket: engineSocket, folder, users } = input;
  const socket = findEngineSocket(engineSocket);
  if (socket === undefined) {
    throw appError("pods_unavailable", {
      detail: "No container engine on this machine.",
      hint: "Start one, or name its socket: SERVICE_ENGINE_SOCKET",
    });
  }
  const engine = await openEngine(socket);
  const about = lazily(async () => {
    const [image, groups, is_podman] = await Promise.all([
      ensureBaseImage(engine),
      findContainerGroups(engine),
      isPodman(engine),
    ]);
    return { image, groups, is_podman };
  });
  return {
    folder,
    engine,
    about,
    owner: createHash("sha256").update(folder).digest("hex").slice(0, 12),
    userOf: (owner) => allotUser(join(folder, ".users"), owner, users ?? POD_USERS),
    retire: (owner) => retireUser(join(folder, ".users"), owner),
    async security(level) {
      const { is_podman } = await about();
      const profile = seccompProfile(level);
      // one takes the name of a file, the other what would be in it
      const filter = is_podman ? writeShown(join(folder, ".seccomp"), `${level}.json`, profile) : profile;
      // a process that makes a sandbox of its own mounts /proc anew, which the kernel refuses where parts of it are hidden
      const proc = level === "code" ? [] : [is_podman ? "unmask=ALL" : "systempaths=unconfined"];
      return [`seccomp=${filter}`, ...proc, ...(hasApparmor() ? ["apparmor=unconfined"] : [])];
    },
  };
}

/** The network of a container as the engine makes it, and how it is bounded before anything runs in it. */
export function containerNetwork(
  network: PodSpec["network"],
  allowed: readonly AllowedHost[],
): { readonly network: ContainerInput["network"]; bound(pid: number): Promise<void> } {
  if (network === "none") return { network: null, bound: async () => undefined };
  const resolvers = findResolvers();
  return {
    network: { resolvers, allowed },
    // the addresses of this machine are read when the engine has made its bridge
    bound: async (pid) => await boundNetwork(pid, networkRules(machineAddresses(), allowed, resolvers)),
  };
}

function hasApparmor(): boolean {
  try {
    return readFileSync(APPARMOR, "utf8").startsWith("Y");
  } catch {
    // the kernel has none
    return false;
  }
}

/** Asks once; again when it failed. */
function lazily<T>(ask: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | undefined;
  return () => {
    answer ??= ask().catch((error) => {
      answer = undefined;
      throw error;
    });
    return answer;
  };
}
