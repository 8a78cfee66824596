import { appError } from "@appdb/contract/errors";
import type { LocalDriver, LocalDriverInput, MissingPart } from "./driver/local-driver.ts";
import type { PodDriver } from "./driver/pod-driver.ts";
import { listPodRecords } from "./driver/pod-state.ts";

const GRACE_MS = 15_000;

/** A selectable driver: what this machine lacks for it, and how to create it. */
export interface PodDriverChoice {
  check(input: LocalDriverInput): Promise<readonly MissingPart[]>;
  create(input: LocalDriverInput): Promise<LocalDriver>;
}

/** Modules are loaded on demand. */
const CHOICES: Readonly<Record<PodDriver["name"], PodDriverChoice>> = {
  process: {
    check: async () => [],
    create: async (input) => (await import("./driver/process-pods.ts")).createProcessPods(input),
  },
  sandbox: {
    check: async (input) => await (await import("./sandbox/sandbox-check.ts")).checkSandbox(input),
    create: async (input) => await (await import("./sandbox/sandbox-pods.ts")).createSandboxPods(input),
  },
};

/** Reasons against plain processes unless they are requested. */
export interface Standing {
  readonly is_root: boolean;
  /** Why pods must be isolated from each other: `it has 3 organizations`. Undefined when isolation is not required. */
  readonly isolated_because: string | undefined;
}

/**
 * Creates the requested driver. `auto` selects `sandbox` where the machine supports it. Otherwise it selects `process`
 * and logs this, unless pods would run as root or must be isolated (`standing`). It first ends pods that another driver
 * left in the folder, because the new driver would adopt them without its limits.
 * @throws pods_unavailable with everything that the machine lacks and a remedy for each
 */
export async function choosePodDriver(
  requested: "auto" | PodDriver["name"],
  input: LocalDriverInput,
  choices = CHOICES,
  standing: Standing = { is_root: process.getuid?.() === 0, isolated_because: undefined },
): Promise<LocalDriver> {
  const driver = await makeDriver(requested, input, choices, standing);
  await endOthers(driver.name, input);
  return driver;
}

async function makeDriver(
  requested: "auto" | PodDriver["name"],
  input: LocalDriverInput,
  choices: typeof CHOICES,
  { is_root: isRoot, isolated_because: isolatedBecause }: Standing,
): Promise<LocalDriver> {
  if (requested === "process" && isRoot) {
    input.log.warn({}, "pods run as root: code of every member can read and change everything on this machine");
  }
  if (requested !== "auto") {
    const missing = await choices[requested].check(input);
    if (missing.length > 0) throw unavailable(requested, missing);
    return await choices[requested].create(input);
  }
  const missing = await choices.sandbox.check(input);
  if (missing.length === 0) return await choices.sandbox.create(input);
  if (isolatedBecause !== undefined) throw unavailable("sandbox", missing, isolatedBecause);
  if (isRoot) throw unavailable("sandbox", missing, ROOT_REASON);
  input.log.warn(
    { missing: missing.map(({ what }) => what), remedies: missing.map(({ remedy }) => remedy) },
    "pods run as plain processes: this machine cannot keep organizations apart, so it serves one",
  );
  return await choices.process.create(input);
}

export interface DriverProblem {
  readonly code: "pods_run_as_root" | "pods_not_isolated";
  readonly what: string;
}

const AS_ROOT: DriverProblem = {
  code: "pods_run_as_root",
  what: "Pods run as root without isolation: code of every member can read and change everything on this machine.",
};
const AS_PROCESSES: DriverProblem = {
  code: "pods_not_isolated",
  what: "Pods run as plain processes without isolation: code of every member can read and change what the server can.",
};

/** Problem that an operator must know about a driver. Undefined for one that isolates pods. */
export function driverProblem(
  { isolates }: Pick<PodDriver, "isolates">,
  isRoot = process.getuid?.() === 0,
): DriverProblem | undefined {
  if (isolates) return undefined;
  return isRoot ? AS_ROOT : AS_PROCESSES;
}

/** Pods of any driver are processes of this machine. */
async function endOthers(name: PodDriver["name"], input: LocalDriverInput): Promise<void> {
  const others = listPodRecords(input.folder).filter(({ driver = "process" }) => driver !== name);
  if (others.length === 0) return;
  const { createProcessPods } = await import("./driver/process-pods.ts");
  await using plain = createProcessPods(input);
  await Promise.all(
    others.map(async ({ driver = "process", id, labels }) => {
      await plain.stop(id, GRACE_MS);
      await plain.forget({ id, database_id: labels.database_id });
      input.log.warn({ pod: id, driver }, "a pod was ended that another driver had started");
    }),
  );
}

const ROOT_REASON = "the server runs as root, and as plain processes the pods would too";

/** `because` says why plain processes are not used instead. */
function unavailable(name: PodDriver["name"], missing: readonly MissingPart[], because?: string): Error {
  const remedies = missing.map(({ remedy }) => remedy).filter((remedy) => remedy !== "");
  const what = missing.map(({ what }) => what).join("; ");
  const reason = because === undefined ? "" : ` Plain processes are not used instead: ${because}.`;
  const otherwise = "or choose another driver: SERVICE_PODS=process serves one organization";
  const asRoot = `${otherwise}, and every member who deploys code to it is root`;
  return appError("pods_unavailable", {
    detail: `The driver ${name} cannot run pods on this machine: ${what}.${reason}`,
    hint: [...remedies, because === ROOT_REASON ? asRoot : otherwise].join("; "),
    meta: { driver: name, missing: missing.map(({ what }) => what) },
  });
}
