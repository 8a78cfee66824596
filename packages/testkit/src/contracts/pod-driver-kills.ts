import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { eventually } from "../eventually.ts";
import { openPodSetup, type PodDriverUnderTest, type PodSetup } from "./pod-driver-setup.ts";
import type { PodOwnerInput } from "./pod-owner.ts";

const OWNER = fileURLToPath(new URL("./pod-owner.ts", import.meta.url));

/** Registers the tests for an owner of a driver that is killed. */
export function testKilledOwners(driver: PodDriverUnderTest): void {
  describe(`killed owners of the driver ${driver.name}`, () => {
    test("after any kill during a start, the next owner has the pod once", async () => {
      await using setup = openPodSetup(driver);
      const pods = await setup.open();
      const rounds = await Promise.allSettled(
        driver.kill_delays_ms.map(async (delayMs, place) => {
          const spec = setup.spec(
            { child: true },
            { id: `db-${place}`, args: ["pod.js", setup.mark, `${setup.mark}-${place}`] },
          );
          const { input, ...otherSpec } = spec;
          const { nextLine, owner } = startOwner(driver, setup, { spec: { ...otherSpec, input: input.reveal() } });
          const closed = once(owner, "close");
          await nextLine();
          await new Promise((resolve) => setTimeout(resolve, delayMs));
          owner.kill("SIGKILL");
          await closed;
          const [one, other] = await Promise.all([
            pods.ensure(spec, AbortSignal.timeout(60_000)),
            (await setup.open()).ensure(spec, AbortSignal.timeout(60_000)),
          ]);
          expect(other.pid).toBe(one.pid);
          await setup.ready(spec);
          await setup.expectPrograms(1, `${setup.mark}-${place}`);
          await pods.stop(spec.id, 5_000);
          expect(setup.programs(`${setup.mark}-${place}`)).toEqual([]);
        }),
      );
      expect(rounds.filter(({ status }) => status === "rejected")).toEqual([]);
      expect(setup.programs()).toEqual([]);
    });

    test("a task ends with its process, and the next owner cleans up", async () => {
      await using setup = openPodSetup(driver);
      const script = `console.log("runs"); setTimeout(() => {}, 60_000)`;
      const { onLine: _, ...task } = setup.task({ args: ["-e", script, setup.mark] });
      const { nextLine, owner } = startOwner(driver, setup, { task });
      expect(await nextLine()).toBe("begins");
      expect(await nextLine()).toBe("runs");
      await setup.expectPrograms(1);
      owner.kill("SIGKILL");
      await eventually(() => expect(setup.programs()).toEqual([]));
      expect(
        await (await setup.open()).run(setup.task({ args: ["-e", ""] }), AbortSignal.timeout(60_000)),
      ).toMatchObject({ code: 0 });
    });
  });
}

function startOwner(
  { module, factory, options }: PodDriverUnderTest,
  setup: PodSetup,
  what: Pick<PodOwnerInput, "spec" | "task">,
): { readonly owner: ChildProcess; nextLine(): Promise<string> } {
  const { folder, program } = setup.input;
  const input: PodOwnerInput = {
    module,
    factory,
    home: setup.folder,
    options: { folder, program, ...options },
    ...what,
  };
  const args = ["--conditions=source", "--import", "tsx", OWNER, JSON.stringify(input)];
  const owner = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: owner.stdout })[Symbol.asyncIterator]();
  return { owner, nextLine: async () => (await lines.next()).value };
}
