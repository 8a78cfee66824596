// Entry file of the command. It is small because loading and compiling the rest takes half of Node's start time.
const [, , first, second] = process.argv;
if (second === undefined && (first === "--version" || first === "-v")) {
  process.stdout.write("@VERSION@\n");
} else {
  keepCompiled();
  require("./cli-main.js");
}

/** Enables the compile cache of Node 22.8 and later, in an existing home, which no other user can write. */
function keepCompiled() {
  const { enableCompileCache } = require("node:module");
  if (enableCompileCache === undefined) return;
  const home = process.env.SERVICE_HOME || `${require("node:os").homedir()}/.service`;
  if (require("node:fs").existsSync(home)) enableCompileCache(`${home}/cache/node`);
}
