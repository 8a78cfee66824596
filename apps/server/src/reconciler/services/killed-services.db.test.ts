import { eventually } from "@appdb/testkit/eventually";
import { expect, test } from "vitest";
import { openServer } from "../../testing/open-server.ts";
import { openTestReconciler } from "../../testing/test-reconciler.ts";
import { openTestService } from "../../testing/test-service.ts";
import type { ServiceStep } from "../core/reconcile-deps.ts";

/** `npm run test:faults` runs all cells. Other runs pick one by `APPDB_SEED`. */
const LONG = process.env.APPDB_FAULTS === "long";
const CELLS: readonly { readonly verb: "update" | "stop" | "prune"; readonly step: ServiceStep }[] = [
  { verb: "update", step: "service begun" },
  { verb: "update", step: "service prepared" },
  { verb: "update", step: "service pod_started" },
  { verb: "update", step: "service pod_ready" },
  { verb: "update", step: "service switched" },
  { verb: "update", step: "service retired" },
  { verb: "stop", step: "service pod_stopped" },
  { verb: "stop", step: "service ended" },
  { verb: "prune", step: "service pod_stopped" },
  { verb: "prune", step: "service ended" },
];
const ENDS = { update: "AVAILABLE", stop: "STOPPED", prune: undefined } as const;
const seed = Number(process.env.APPDB_SEED ?? 1);
const chosen = LONG ? CELLS : CELLS.filter((_, at) => at === (seed + 2) % CELLS.length);

test.each(chosen.map(({ verb, step }) => [verb, step] as const))(
  "%s of a service, killed after '%s', ends once with the requested state",
  { timeout: 180_000 },
  async (verb, step) => {
    await using server = await openServer();
    const setup = await openTestReconciler(server);
    const { pods } = setup.machine;
    const first = await setup.start();
    await setup.settles("AVAILABLE");
    const service = await openTestService(setup);
    await service.settles("AVAILABLE");
    await first.stop("keep pods");
    await service.ask(verb);
    expect(await setup.killBehind(step)).toBe(true);
    const killed = await service.see();
    if (verb === "update") expect(pods.running()).toContain(service.pod(killed?.observed?.instance ?? 0));
    await using _reconciler = await setup.start();
    const seen = await service.settles(ENDS[verb]);
    const serving = verb === "update" ? [service.pod(seen.observed?.instance ?? 0)] : [];
    await eventually(() => expect(pods.running().sort()).toEqual([setup.pod, ...serving].sort()));
    if (verb === "prune") expect(setup.machine.roles()).toEqual([]);
    expect(await service.outcomes(`service.${verb}`)).toEqual(
      verb === "update" ? ["pending", "succeeded", "pending", "succeeded"] : ["pending", "succeeded"],
    );
    if (verb === "update") expect(seen.observed).toMatchObject({ release: 2 });
  },
);
