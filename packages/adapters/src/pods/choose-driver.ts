import { appError } from "@appdb/contract/errors";
import type { MissingPart, PodDriver, PodDriverInput } from "./pod-driver.ts";
import { listPodRecords } from "./pod-state.ts";

const GRACE_MS = 15_000;

/** One that may be chosen: what this machine lacks for it, and how it is made. */
export interface PodDriverChoice {
  check(input: PodDriverInput): Promise<readonly MissingPart[]>;
  create(input: PodDriverInput): Promise<PodDriver>;
}

/** Their modules are loaded when they are asked. */
const CHOICES: Readonly<Record<PodDriver["name"], PodDriverChoice>> = {
  process: {
    check: async () => [],
    create: async (input) => (await import("./process-pods.ts")).createProcessPods(input),
  },
  sandbox: {
    check: async (input) => await (await import("./sandbox-check.ts")).checkSandbox(input),
    create: async (input) => await (await import("./sandbox-pods.ts")).createSandboxPods(input),
  },
  container: {
    check: async (input) => await (await import("./find-engine.ts")).checkContainers(input.engine_socket),
    create: async (input) => await (await import("./container-pods.ts")).createContainerPods(input),
  },
};

/**
 * Makes the driver that is wanted; `auto` is `sandbox` where the machine has what it needs, else `process`, which the log says. Pods
 * that another driver has left in the folder are ended first: they would be taken for this one's, without its bounds.
 * @throws pods_unavailable with all that the machine lacks, and what to do about each
 */
export async function choosePodDriver(
  wanted: "auto" | PodDriver["name"],
  input: PodDriverInput,
  choices = CHOICES,
): Promise<PodDriver> {
  const driver = await makeDriver(wanted, input, choices);
  await endOthers(driver.name, input);
  return driver;
}

async function makeDriver(
  wanted: "auto" | PodDriver["name"],
  input: PodDriverInput,
  choices: typeof CHOICES,
): Promise<PodDriver> {
  if (wanted !== "auto") {
    const missing = await choices[wanted].check(input);
    if (missing.length > 0) throw unavailable(wanted, missing);
    return await choices[wanted].create(input);
  }
  const missing = await choices.sandbox.check(input);
  if (missing.length === 0) return await choices.sandbox.create(input);
  input.log.warn(
    { missing: missing.map(({ what }) => what), remedies: missing.map(({ remedy }) => remedy) },
    "pods run as plain processes: this machine cannot keep organizations apart, so it serves one",
  );
  return await makeDriver("process", input, choices);
}

/** Whatever they were started by, they are processes of this machine. */
async function endOthers(name: PodDriver["name"], input: PodDriverInput): Promise<void> {
  const others = listPodRecords(input.folder).filter(({ driver = "process" }) => driver !== name);
  if (others.length === 0) return;
  const { createProcessPods } = await import("./process-pods.ts");
  await using plain = createProcessPods(input);
  await Promise.all(
    others.map(async ({ driver = "process", id }) => {
      await plain.stop(id, GRACE_MS);
      await plain.forget(id);
      input.log.warn({ pod: id, driver }, "a pod was ended that another driver had started");
    }),
  );
}

function unavailable(name: PodDriver["name"], missing: readonly MissingPart[]): Error {
  const remedies = missing.map(({ remedy }) => remedy).filter((remedy) => remedy !== "");
  return appError("pods_unavailable", {
    detail: `The driver ${name} cannot run pods on this machine: ${missing.map(({ what }) => what).join("; ")}.`,
    hint: [...remedies, "or choose another driver: SERVICE_PODS=process serves one organization"].join("; "),
    meta: { driver: name, missing: missing.map(({ what }) => what) },
  });
}
