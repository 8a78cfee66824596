// `npm run setup`: installs what all other scripts need: the JavaScript packages and the tool environment `.tools`
// (PostgreSQL, uv, pytest). Uses only Node's own modules, because nothing is installed yet. With `--tools`, only the
// tool environment.
import { ensureNodePackages, requireNode } from "./lib/node-packages.mjs";
import { main, say } from "./lib/say.mjs";
import { ensureToolEnvironment } from "./lib/tool-environment.mjs";

await main(() => {
  requireNode();
  if (!process.argv.includes("--tools")) ensureNodePackages();
  ensureToolEnvironment();
  if (process.env.npm_lifecycle_event === "setup") say("Set-up is complete.");
});
