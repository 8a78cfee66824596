// `npm test`: set-up, build, then all checks. Ends with the line `N passed, N failed` and its exit status. `--faults`
// (npm run test:faults) runs the long fault tests instead of the short ones.
import { fileURLToPath } from "node:url";
import { ensureNodePackages, requireNode } from "./lib/node-packages.mjs";
import { stream } from "./lib/run.mjs";
import { main } from "./lib/say.mjs";

await main(async () => {
  requireNode();
  // both wait for downloads
  const tools = stream(process.execPath, [fileURLToPath(new URL("./setup.mjs", import.meta.url)), "--tools"]);
  ensureNodePackages();
  if ((await tools) !== 0) return 1;
  const { ensureBuilt } = await import("./lib/build.mjs");
  await ensureBuilt();
  const { runEverything } = await import("./lib/test-run.mjs");
  return await runEverything({ faults: process.argv.includes("--faults") });
});
