// `npm run setup`: what every other script needs and makes by itself: the JavaScript packages and the tool environment
// `.tools` (PostgreSQL, uv, pytest). Node's own library alone is used here, because nothing is installed yet. With `--tools` the latter alone.
import { ensureNodePackages, requireNode } from "./lib/node-packages.mjs";
import { main, say } from "./lib/say.mjs";
import { ensureToolEnvironment } from "./lib/tool-environment.mjs";

await main(() => {
  requireNode();
  if (!process.argv.includes("--tools")) ensureNodePackages();
  ensureToolEnvironment();
  if (process.env.npm_lifecycle_event === "setup") say("Set-up is complete.");
});
