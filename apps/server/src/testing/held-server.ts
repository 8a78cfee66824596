import { runMain } from "@appdb/system/processes/run-main";
import type { ReconcileStep } from "../reconciler/core/reconcile-deps.ts";
import { runServer } from "../run-server.ts";

/**
 * The server with controls for tests, over the channel of its parent process. After `{hold: step}` it stops at that
 * step of any database and sends `{held: step}`. It continues after `{go: true}`. It ends with its parent.
 */
let wanted: ReconcileStep | undefined;
let release: (() => void) | undefined;

process.on("message", (told: { readonly hold?: ReconcileStep | null; readonly go?: true }) => {
  if (told.hold !== undefined) wanted = told.hold ?? undefined;
  if (told.go === true) release?.();
});
process.on("disconnect", () => process.kill(process.pid, "SIGTERM"));

async function run(): Promise<number> {
  await runServer({
    reconcileStepDone: async (step) => {
      if (step !== wanted) return;
      wanted = undefined;
      const going = new Promise<void>((resolve) => {
        release = resolve;
      });
      process.send?.({ held: step });
      await going;
    },
  });
  return 0;
}

runMain(run);
