import { createStageLayout } from "@appdb/testkit/contracts/stage-layout";
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
  const input = { folder: "/pods", layout: createStageLayout("/home"), program, log, clock: { now: () => 0 } };
  return { log, chosen: choosePodDriver(wanted, input, choices, standing).then(({ name }) => name) };
}

test("auto is the sandbox where the machine has what it needs, else plain processes, and the log says why", async () => {
  expect(await choose("auto", []).chosen).toBe("sandbox");
  const { chosen, log } = choose("auto", [BWRAP]);
  expect(await chosen).toBe("process");
  expect(log.lines).toMatchObject([{ level: "warn", fields: { missing: [BWRAP.what], remedies: [BWRAP.remedy] } }]);
});

test("a driver that was asked for is never replaced by another: what it lacks is said, with what to install", async () => {
  expect(await choose("process", [BWRAP]).chosen).toBe("process");
  await expect(choose("sandbox", [BWRAP]).chosen).rejects.toMatchObject({
    code: "pods_unavailable",
    message: "The driver sandbox cannot run pods on this machine: there is no bwrap on the PATH.",
    hint: "apt-get install bubblewrap; or choose another driver: SERVICE_PODS=process serves one organization",
  });
});

test("auto never becomes plain processes under root", async () => {
  const root = { is_root: true, isolated_because: undefined };
  expect(await choose("auto", [], root).chosen).toBe("sandbox");
  await expect(choose("auto", [BWRAP], root).chosen).rejects.toMatchObject({
    code: "pods_unavailable",
    message: expect.stringContaining("there is no bwrap on the PATH. Plain processes do not take its place"),
    hint: expect.stringMatching(/^apt-get install bubblewrap; .*SERVICE_PODS=process .* is root$/),
  });
});

test("auto never becomes plain processes where pods must be isolated", async () => {
  const shared = { is_root: false, isolated_because: "it has 2 organizations" };
  await expect(choose("auto", [BWRAP], shared).chosen).rejects.toMatchObject({
    code: "pods_unavailable",
    message: expect.stringContaining("it has 2 organizations"),
  });
});

test("plain processes that were asked for run under root, and the log warns", async () => {
  const { chosen, log } = choose("process", [], { is_root: true, isolated_because: undefined });
  expect(await chosen).toBe("process");
  expect(log.lines).toMatchObject([{ level: "warn" }]);
});

test("an operator is told of a driver that does not isolate pods", () => {
  expect(driverProblem({ isolates: true }, true)).toBeUndefined();
  expect(driverProblem({ isolates: false }, true)).toMatchObject({ code: "pods_run_as_root" });
  expect(driverProblem({ isolates: false }, false)).toMatchObject({ code: "pods_not_isolated" });
});
