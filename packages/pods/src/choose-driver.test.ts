import { createTestLayout } from "@appdb/testkit/contracts/test-layout";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { expect, test } from "vitest";
import { choosePodDriver, driverProblem, type PodDriverChoice, type Standing } from "./choose-driver.ts";
import type { LocalDriver, MissingPart } from "./driver/local-driver.ts";
import type { PodDriver } from "./driver/pod-driver.ts";

const BWRAP: MissingPart = { what: "there is no bwrap on the PATH", remedy: "apt-get install bubblewrap" };

function choose(
  wanted: "auto" | PodDriver["name"],
  missing: readonly MissingPart[],
  standing: Standing = { is_root: false, isolated_because: undefined },
) {
  const log = createSilentLog();
  const choice = (name: PodDriver["name"], lacks: readonly MissingPart[]): PodDriverChoice => ({
    check: async () => lacks,
    create: async () => ({ name }) as LocalDriver,
  });
  const choices = {
    process: choice("process", []),
    sandbox: choice("sandbox", missing),
  };
  const program = { file: "pod.js", node_options: [] };
  const input = { folder: "/pods", layout: createTestLayout("/home"), program, log, clock: { now: () => 0 } };
  return { log, chosen: choosePodDriver(wanted, input, choices, standing).then(({ name }) => name) };
}

test("auto selects the sandbox if available, otherwise plain processes with a log", async () => {
  expect(await choose("auto", []).chosen).toBe("sandbox");
  const { chosen, log } = choose("auto", [BWRAP]);
  expect(await chosen).toBe("process");
  expect(log.lines).toMatchObject([{ level: "warn", fields: { missing: [BWRAP.what], remedies: [BWRAP.remedy] } }]);
});

test("never replaces a requested driver and reports what it lacks", async () => {
  expect(await choose("process", [BWRAP]).chosen).toBe("process");
  await expect(choose("sandbox", [BWRAP]).chosen).rejects.toMatchObject({
    code: "pods_unavailable",
    message: "The driver sandbox cannot run pods on this machine: there is no bwrap on the PATH.",
    hint: "apt-get install bubblewrap; or choose another driver: SERVICE_PODS=process serves one organization",
  });
});

test("auto never selects plain processes for root", async () => {
  const root = { is_root: true, isolated_because: undefined };
  expect(await choose("auto", [], root).chosen).toBe("sandbox");
  await expect(choose("auto", [BWRAP], root).chosen).rejects.toMatchObject({
    code: "pods_unavailable",
    message: expect.stringContaining("there is no bwrap on the PATH. Plain processes are not used instead"),
    hint: expect.stringMatching(/^apt-get install bubblewrap; .*SERVICE_PODS=process .* is root$/),
  });
});

test("auto never selects plain processes where pods must be isolated", async () => {
  const shared = { is_root: false, isolated_because: "it has 2 organizations" };
  await expect(choose("auto", [BWRAP], shared).chosen).rejects.toMatchObject({
    code: "pods_unavailable",
    message: expect.stringContaining("it has 2 organizations"),
  });
});

test("allows requested plain processes for root with a warning", async () => {
  const { chosen, log } = choose("process", [], { is_root: true, isolated_because: undefined });
  expect(await chosen).toBe("process");
  expect(log.lines).toMatchObject([{ level: "warn" }]);
});

test("warns the operator of a driver that does not isolate pods", () => {
  expect(driverProblem({ isolates: true }, true)).toBeUndefined();
  expect(driverProblem({ isolates: false }, true)).toMatchObject({ code: "pods_run_as_root" });
  expect(driverProblem({ isolates: false }, false)).toMatchObject({ code: "pods_not_isolated" });
});
