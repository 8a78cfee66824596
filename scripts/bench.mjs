// `npm run bench [-- --quick]`: set-up, build, then bench/main.ts, which prints the table.
import { join } from "node:path";
import { ensureNodePackages, requireNode } from "./lib/node-packages.mjs";
import { nodeBin, ROOT } from "./lib/paths.mjs";
import { stream, withoutPython } from "./lib/run.mjs";
import { main } from "./lib/say.mjs";
import { ensureToolEnvironment } from "./lib/tool-environment.mjs";

await main(async () => {
  requireNode();
  ensureNodePackages();
  ensureToolEnvironment();
  const { ensureBuilt } = await import("./lib/build.mjs");
  await ensureBuilt();
  const program = [nodeBin("tsx", "tsx"), "--conditions=source", join(ROOT, "bench", "main.ts")];
  const env = withoutPython(process.env);
  return await stream(process.execPath, [...program, ...process.argv.slice(2)], { cwd: ROOT, env });
});
