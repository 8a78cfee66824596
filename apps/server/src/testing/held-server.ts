import { runMain } from "@appdb/system/processes/run-main";
import type { ReconcileStep } from "../reconciler/core/reconcile-deps.ts";
import { runServer } from "../run-server.ts";

/**
 * The server with a handle for tests: it is told `{hold: step}` by the channel of the process that started it, says `{held: step}` when
 * work at any database has come there, and stands still until `{go: true}` or its end. It ends when whoever started it does.
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
