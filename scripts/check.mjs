// `npm run check`: Biome, the TypeScript compiler, knip and the unit tests.
import { ensureNodePackages, requireNode } from "./lib/node-packages.mjs";
import { main } from "./lib/say.mjs";
import { ensureToolEnvironment } from "./lib/tool-environment.mjs";

await main(async () => {
  requireNode();
  ensureNodePackages();
  ensureToolEnvironment();
  const { runChecks } = await import("./lib/checks.mjs");
  const results = await runChecks({ unit: true });
  return results.every(({ ok }) => ok) ? 0 : 1;
});
