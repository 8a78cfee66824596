import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import type { DatabasePodSpec, PodHealth, ServicePodHealth, ServicePodSpec } from "@appdb/contract/pod-spec";
import { VERSION } from "@appdb/contract/version";
import { createLocalAccess } from "@appdb/pods/driver/local-access";
import type { VolumeLayout } from "@appdb/pods/driver/local-driver";
import type { PodDriver, PodEndpoint, PodExit, PodSpec, PodStatus } from "@appdb/pods/driver/pod-driver";
import { specHash } from "@appdb/pods/driver/spec-hash";
import { LINK_VERSIONS } from "@appdb/pods/link/link";
import { removeFolder } from "@appdb/system/files/remove-folder";
import type { Secret } from "@appdb/system/secret";

/** The behaviour of pods that start from now on. */
export interface FakePodBehaviour {
  /** Default: `ready` at once; `exits` before it is ready; `silent` never answers; `refused` cannot be started. */
  readonly start?: "ready" | "exits" | "silent" | "refused";
  /** Applies to this number of starts; later ones are ready. */
  readonly times?: number;
  readonly exit?: Partial<PodExit>;
  /** Its log output before it ends. */
  readonly output?: string;
}

/** Pods as files. All openers of a folder share its pods, also after their process was killed. */
export interface FakePods {
  readonly driver: PodDriver;
  /** The response of a running pod to a caller with its token; undefined for others. */
  askHealth(pod: FakeAddress): Promise<PodHealth | undefined>;
  /** The same for a pod of a service. */
  askService(pod: FakeAddress): Promise<ServicePodHealth | undefined>;
  /** An idle pod ends at once; another one when `say` reports it as idle. */
  drainService(pod: FakeAddress): Promise<boolean>;
  putKeys(pod: FakeAddress, snapshot: string): Promise<boolean>;
  behave(behaviour: FakePodBehaviour): void;
  /** Sets what a pod reports from now on. */
  say(id: string, health: Partial<PodHealth> | Partial<ServicePodHealth>): void;
  /** Ends the process of a pod, like a crash. */
  end(id: string, exit?: Partial<PodExit>): void;
  /** Number of starts of a pod. */
  starts(id: string): number;
  /** Ids of running pods. */
  running(): string[];
  /** Whether an instance of a service has stopped taking requests. */
  isDraining(id: string): boolean;
  /** Ids of pods in the order in which they ended. */
  ends(): string[];
  /** Databases without any remaining data, of those that this process deleted. */
  forgotten(): string[];
  /** The start document of a pod. */
  specOf(id: string): DatabasePodSpec;
  /** The same for a pod of a service, with the last keys that it got. */
  toldService(id: string): ServicePodSpec & { readonly last_keys: string | undefined };
}

/** The address of a pod's API. */
export interface FakeAddress {
  readonly endpoint: PodEndpoint;
  readonly token: Secret;
}

interface FakePod extends PodStatus {
  readonly spec: DatabasePodSpec | ServicePodSpec;
  readonly is_silent: boolean;
  readonly is_draining?: boolean;
  readonly last_keys?: string;
  readonly health: Partial<PodHealth> & Partial<ServicePodHealth>;
  readonly starts: number;
}

const NO_EXIT: PodExit = { code: null, signal: null, is_out_of_memory: false, exceeded: null };

export function createFakePods(folder: string, layout: VolumeLayout): FakePods {
  mkdirSync(folder, { recursive: true });
  const forgotten = new Set<string>();
  const fileOf = (id: string) => join(folder, `${id}.json`);
  const read = (id: string) => readJson<FakePod>(fileOf(id));
  const all = () =>
    readdirSync(folder)
      .filter((name) => /^(db|svc)-/.test(name) && name.endsWith(".json"))
      .flatMap((name) => readJson<FakePod>(join(folder, name)) ?? []);
  const write = (pod: FakePod) => writeJson(fileOf(pod.id), pod);
  const startsFile = join(folder, "starts.json");
  const endsFile = join(folder, "ends.json");
  const end = (id: string, exit: Partial<PodExit>) => {
    const pod = read(id);
    if (pod?.state !== "running") return;
    write({ ...pod, state: "exited", pid: null, exit: { ...NO_EXIT, ...exit } });
    writeJson(endsFile, [...(readJson<string[]>(endsFile) ?? []), id]);
  };

  async function ensure(spec: PodSpec): Promise<PodStatus> {
    const before = read(spec.id);
    const spec_hash = specHash(spec);
    if (before?.state === "running" && before.spec_hash === spec_hash) return toStatus(before);
    const behaviour = takeBehaviour(join(folder, "behaviour.json"));
    if (behaviour.start === "refused") {
      throw appError("pod_failed", { detail: "The pod's process could not be started: the system refused." });
    }
    await layout.makeFolders(spec);
    const counts = readJson<Record<string, number>>(startsFile) ?? {};
    const starts = (counts[spec.id] ?? 0) + 1;
    writeJson(startsFile, { ...counts, [spec.id]: starts });
    const { id, labels } = spec;
    const pod: FakePod = {
      id,
      labels,
      spec_hash,
      starts,
      state: "running",
      pid: 1_000_000 + starts,
      exit: null,
      started_at: new Date().toISOString(),
      memory_bytes: 10_000_000,
      health: {},
      spec: JSON.parse(spec.input.reveal()) as FakePod["spec"],
      is_silent: behaviour.start === "silent",
    };
    write(pod);
    const log = spec.volumes.find(({ source }) => source.kind === "logs");
    if (behaviour.output !== undefined && log !== undefined) {
      mkdirSync(log.target, { recursive: true });
      const line = { time: new Date().toISOString(), level: "error", msg: behaviour.output };
      writeFileSync(join(log.target, "pod.log"), `${JSON.stringify(line)}\n`, { flag: "a" });
    }
    if (behaviour.start === "exits") end(spec.id, { code: 1, ...behaviour.exit });
    return toStatus(read(spec.id) ?? pod);
  }

  const driver: PodDriver = {
    ...createLocalAccess(layout.folder),
    name: "process",
    isolates: true,
    target: layout.folder,
    ensure,
    stop: async (id) => end(id, { code: 0 }),
    inspect: async (id) => {
      const pod = read(id);
      return pod === undefined ? undefined : toStatus(pod);
    },
    list: async (labels) =>
      all()
        .filter((pod) => Object.entries(labels).every(([name, value]) => pod.labels[name as "kind"] === value))
        .map(toStatus),
    async forget(pod) {
      const { id } = pod;
      if (read(id)?.state === "running") throw appError("pod_failed", { detail: `The pod ${id} runs.` });
      rmSync(fileOf(id), { force: true });
      for (const kind of ["sockets", "scratch"] as const) await removeFolder(layout.folder({ kind, pod }));
    },
    listOwners: layout.listOwners,
    forgetService: layout.removeService,
    forgetDatabase: async (databaseId) => {
      await layout.removeDatabase(databaseId);
      forgotten.add(databaseId);
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
  const reach = ({ endpoint, token }: FakeAddress) => {
    const pod = all().find(
      ({ spec }) => endpoint.kind === "socket" && join(spec.run_folder, "pod.sock") === endpoint.path,
    );
    return pod?.state !== "running" || pod.is_silent || pod.spec.token !== token.reveal() ? undefined : pod;
  };
  const endIfDrained = (id: string) => {
    const pod = read(id);
    if (pod?.is_draining === true && (pod.health.in_flight ?? 0) === 0) end(id, { code: 0 });
  };
  return {
    driver,
    async askHealth(address) {
      const pod = reach(address);
      return pod && { ...healthOf(pod), ...(pod.health as Partial<PodHealth>) };
    },
    askService: async (address) => {
      const pod = reach(address);
      return pod && serviceHealthOf(pod);
    },
    async drainService(address) {
      const pod = reach(address);
      if (pod === undefined) return false;
      write({ ...pod, is_draining: true });
      endIfDrained(pod.id);
      return true;
    },
    async putKeys(address, snapshot) {
      const pod = reach(address);
      if (pod !== undefined) write({ ...pod, last_keys: snapshot });
      return pod !== undefined;
    },
    behave: (behaviour) => writeJson(join(folder, "behaviour.json"), behaviour),
    say(id, health) {
      const pod = read(id);
      if (pod !== undefined) write({ ...pod, health: { ...pod.health, ...(health as FakePod["health"]) } });
      endIfDrained(id);
    },
    end: (id, exit = { signal: "SIGKILL" }) => end(id, exit),
    starts: (id) => readJson<Record<string, number>>(startsFile)?.[id] ?? 0,
    running: () =>
      all()
        .filter(({ state }) => state === "running")
        .map(({ id }) => id),
    isDraining: (id) => read(id)?.is_draining === true,
    ends: () => readJson<string[]>(endsFile) ?? [],
    forgotten: () => [...forgotten],
    specOf(id) {
      const spec = read(id)?.spec;
      if (spec?.role !== "database") throw new Error(`There is no pod ${id} of a database.`);
      return spec;
    },
    toldService(id) {
      const { last_keys: lastKeys, spec } = read(id) ?? {};
      if (spec?.role !== "service-pod") throw new Error(`There is no pod ${id} of a service.`);
      return { ...spec, last_keys: lastKeys };
    },
  };
}

function healthOf({ pid, started_at: startedAt }: FakePod): PodHealth {
  const awakeMs = Math.max(0, Date.now() - Date.parse(startedAt));
  return {
    version: VERSION,
    pid: pid ?? 0,
    state: "ready",
    postgres: "up",
    busy: null,
    idle_ms: awakeMs,
    disk_bytes: 40_000_000,
    disk_limit_bytes: 10_000_000_000,
    is_disk_full: false,
    media_bytes: 0,
    is_media_in_bucket: false,
    media_limit_bytes: null,
    measured_at: null,
    media_objects: 0,
    metered: { run: startedAt, cpu_ms: 100, awake_ms: awakeMs },
  };
}

function serviceHealthOf({ health, is_draining: isDraining, pid, started_at: startedAt }: FakePod): ServicePodHealth {
  return {
    version: VERSION,
    pid: pid ?? 0,
    state: isDraining === true ? "draining" : "ready",
    in_flight: 0,
    idle_ms: Math.max(0, Date.now() - Date.parse(startedAt)),
    link_versions: LINK_VERSIONS,
    ...(health as Partial<ServicePodHealth>),
  };
}

function toStatus({
  spec: _told,
  is_silent: _silent,
  health: _health,
  starts: _starts,
  is_draining: _draining,
  last_keys: _keys,
  ...status
}: FakePod): PodStatus {
  return status;
}

function takeBehaviour(file: string): FakePodBehaviour {
  const behaviour = readJson<FakePodBehaviour>(file) ?? {};
  if (behaviour.times === undefined) return behaviour;
  if (behaviour.times <= 0) return {};
  writeJson(file, { ...behaviour, times: behaviour.times - 1 });
  return behaviour;
}

function readJson<Value>(file: string): Value | undefined {
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Value) : undefined;
}

/** Atomic: another process may read it meanwhile. */
function writeJson(file: string, value: unknown): void {
  writeFileSync(`${file}.${process.pid}`, JSON.stringify(value));
  renameSync(`${file}.${process.pid}`, file);
}
