import { appError } from "@appdb/contract/errors";
import type { MissingPart, PodDriver, PodDriverInput } from "./pod-driver.ts";

/** One that may be chosen: what this machine lacks for it, and how it is made. */
export interface PodDriverChoice {
  check(input: PodDriverInput): Promise<readonly MissingPart[]>;
  create(input: PodDriverInput): Promise<PodDriver>;
}

/** Their modules are loaded when they are asked. `sandbox-pods.ts` is none of them yet: servers' databases have not run in it. */
const CHOICES: Readonly<Partial<Record<PodDriver["name"], PodDriverChoice>>> = {
  process: {
    check: async () => [],
    create: async (input) => (await import("./process-pods.ts")).createProcessPods(input),
  },
};

/**
 * Makes the driver that is wanted; `auto` is `sandbox` where the machine has what it needs, else `process`, which the log says.
 * @throws pods_unavailable with all that the machine lacks, and what to do about each
 */
export async function choosePodDriver(
  wanted: "auto" | PodDriver["name"],
  input: PodDriverInput,
  choices = CHOICES,
): Promise<PodDriver> {
  if (wanted !== "auto") {
    const { choice, missing } = await look(wanted, input, choices);
    if (choice === undefined || missing.length > 0) throw unavailable(wanted, missing);
    return await choice.create(input);
  }
  const { choice, missing } = await look("sandbox", input, choices);
  if (choice !== undefined && missing.length === 0) return await choice.create(input);
  input.log.warn(
    { missing: missing.map(({ what }) => what), remedies: missing.map(({ remedy }) => remedy) },
    "pods run as plain processes: this machine cannot keep organizations apart, so it serves one",
  );
  return await choosePodDriver("process", input, choices);
}

async function look(name: PodDriver["name"], input: PodDriverInput, choices: typeof CHOICES) {
  const choice = choices[name];
  const missing = (await choice?.check(input)) ?? [{ what: "this version has no such driver", remedy: "" }];
  return { choice, missing };
}

function unavailable(name: PodDriver["name"], missing: readonly MissingPart[]): Error {
  const remedies = missing.map(({ remedy }) => remedy).filter((remedy) => remedy !== "");
  return appError("pods_unavailable", {
    detail: `The driver ${name} cannot run pods on this machine: ${missing.map(({ what }) => what).join("; ")}.`,
    hint: [...remedies, "or choose another driver: SERVICE_PODS=process serves one organization"].join("; "),
    meta: { driver: name, missing: missing.map(({ what }) => what) },
  });
}
