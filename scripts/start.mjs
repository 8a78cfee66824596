// `npm start`: set-up, build, and the hosted service with the quickstart deployed, in the checkout's own home until
// Ctrl-C.
import { ensureNodePackages, requireNode } from "./lib/node-packages.mjs";
import { main } from "./lib/say.mjs";
import { ensureToolEnvironment } from "./lib/tool-environment.mjs";

await main(async () => {
  requireNode();
  ensureNodePackages();
  ensureToolEnvironment();
  const { ensureBuilt } = await import("./lib/build.mjs");
  await ensureBuilt();
  const { serveDemo } = await import("./lib/demo.mjs");
  return await serveDemo();
});
