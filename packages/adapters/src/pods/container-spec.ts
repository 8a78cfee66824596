import type { ContainerCreateOptions } from "dockerode";
import type { PodLimits } from "./pod-driver.ts";
import type { Sight } from "./sandbox-layout.ts";
import type { AllowedHost } from "./sandbox-network.ts";

const MEGABYTE = 1024 * 1024;
const NANO = 1_000_000_000;
const TEMPORARY_MB = 256;
/** What every machine allows; an engine that is told nothing asks for more than some do. */
const OPEN_FILES = 4_096;
const TASKS_OF_A_USER = 4_096;

export interface ContainerInput {
  readonly name: string;
  readonly image: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly uid: number;
  /** Of several for one path the last counts. */
  readonly sights: readonly Sight[];
  readonly limits: PodLimits;
  /** The largest file that it may write; unbounded when it is left out. */
  readonly file_bytes?: number;
  /** Null: none but a loopback. */
  readonly network: { readonly resolvers: readonly string[]; readonly allowed: readonly AllowedHost[] } | null;
  /** Options of the engine's security: the filter of system calls above all. */
  readonly security: readonly string[];
  /** The group that all pods of a database share; the engine's own when it is left out. */
  readonly group?: string | undefined;
}

/**
 * What the engine is asked for: an unprivileged user in a container of its own, which sees the given folders and nothing else
 * of the machine, writes to nothing but those and a small temporary folder in memory, and cannot become more than it is. Pure.
 */
export function containerOptions(input: ContainerInput): ContainerCreateOptions {
  const { file_bytes: fileBytes, limits } = input;
  const memoryBytes = limits.memory_mb * MEGABYTE;
  return {
    name: input.name,
    Image: input.image,
    Labels: { ...input.labels },
    Entrypoint: [],
    Cmd: [...input.argv],
    Env: Object.entries(input.env).map(([name, value]) => `${name}=${value}`),
    WorkingDir: input.cwd,
    User: `${input.uid}:${input.uid}`,
    Hostname: "pod",
    // whoever starts it is its input, and its end when they are gone
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Tty: false,
    HostConfig: {
      Mounts: mountsOf(input.sights),
      Tmpfs: { "/tmp": `rw,nosuid,nodev,size=${TEMPORARY_MB}m,mode=1777` },
      ReadonlyRootfs: true,
      Privileged: false,
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges", ...input.security],
      ...networkOf(input.network),
      IpcMode: "private",
      Memory: memoryBytes,
      MemorySwap: memoryBytes,
      NanoCpus: Math.round(limits.cpu * NANO),
      PidsLimit: limits.tasks,
      // of both or of neither; the group bounds tasks, this one is of all containers of the user
      Ulimits: [
        { Name: "nofile", Soft: OPEN_FILES, Hard: OPEN_FILES },
        { Name: "nproc", Soft: TASKS_OF_A_USER, Hard: TASKS_OF_A_USER },
        { Name: "core", Soft: 0, Hard: 0 },
        ...(fileBytes === undefined ? [] : [{ Name: "fsize", Soft: fileBytes, Hard: fileBytes }]),
      ],
      LogConfig: { Type: "none", Config: {} },
      RestartPolicy: { Name: "no" },
      ...(input.group === undefined ? {} : { CgroupParent: input.group }),
    },
  };
}

function networkOf(network: ContainerInput["network"]) {
  if (network === null) return { NetworkMode: "none" };
  const hosts = network.allowed.flatMap(({ addresses, name }) =>
    addresses.filter((address) => address !== name).map((address) => `${name}:${address}`),
  );
  return { NetworkMode: "bridge", Dns: [...network.resolvers], ExtraHosts: hosts };
}

function mountsOf(sights: readonly Sight[]) {
  const last = new Map(sights.map((sight) => [sight.target, sight]));
  return [...last.values()]
    .sort((one, other) => (one.target < other.target ? -1 : 1))
    .map(({ mode, source, target }) => ({
      Type: "bind" as const,
      Source: source,
      Target: target,
      ReadOnly: mode === "read",
      BindOptions: { Propagation: "rprivate" as const },
    }));
}
