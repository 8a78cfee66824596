// The command's first file, small because reading and compiling what follows takes half as long as Node's own start.
const [, , first, second] = process.argv;
if (second === undefined && (first === "--version" || first === "-v")) {
  process.stdout.write("@VERSION@\n");
} else {
  keepCompiled();
  require("./cli-main.js");
}

/** From Node 22.8 on compiled code can be kept: in the home if there is one, where nobody else may write. */
function keepCompiled() {
  const { enableCompileCache } = require("node:module");
  if (enableCompileCache === undefined) return;
  const home = process.env.SERVICE_HOME || `${require("node:os").homedir()}/.service`;
  if (require("node:fs").existsSync(home)) enableCompileCache(`${home}/cache/node`);
}
