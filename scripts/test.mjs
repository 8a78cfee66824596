// `npm test`: set-up, build, then every check there is. Ends with one line, `N passed, N failed`, and its exit status.
// `--faults` (npm run test:faults) runs the long fault tests instead of the short forms.
import { ensureNodePackages, requireNode } from "./lib/node-packages.mjs";
import { main } from "./lib/say.mjs";
import { ensureToolEnvironment } from "./lib/tool-environment.mjs";

await main(async () => {
  requireNode();
  ensureNodePackages();
  ensureToolEnvironment();
  const { ensureBuilt } = await import("./lib/build.mjs");
  await ensureBuilt();
  const { runEverything } = await import("./lib/test-run.mjs");
  return await runEverything({ faults: process.argv.includes("--faults") });
});
