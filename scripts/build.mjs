// `npm run build`: the bundled command and pod in dist/, the wheels from them and python/, and the dashboard in
// apps/dashboard/dist.
import { ensureNodePackages, requireNode } from "./lib/node-packages.mjs";
import { main, say } from "./lib/say.mjs";
import { ensureToolEnvironment } from "./lib/tool-environment.mjs";

await main(async () => {
  requireNode();
  ensureNodePackages();
  ensureToolEnvironment();
  const { build } = await import("./lib/build.mjs");
  const wheels = await build();
  say(`Built dist/cli.js, dist/pod.js, apps/dashboard/dist, ${wheels.map((name) => `dist/${name}`).join(", ")}.`);
});
