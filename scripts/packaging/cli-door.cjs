// Entry file of the command. It is small because loading and compiling the rest takes half of Node's start time.
const [, , first, second] = process.argv;
const loaded = new Map();
if (second === undefined && (first === "--version" || first === "-v")) {
  process.stdout.on("error", ({ message }) => {
    process.stderr.write(`error: The output of the command cannot be written: ${message}.\n`);
    process.exit(1);
  });
  process.stdout.write("@VERSION@\n");
} else {
  keepCompiled();
  load("./cli-main.js");
}

/** Loads a bundle beside this file by what the build has kept of its compiled code; a wheel has none. */
function load(name) {
  const file = require.resolve(name);
  const known = loaded.get(file);
  if (known !== undefined) return known.exports;
  const compiled = require("./read-compiled.cjs").readCompiled(file);
  if (compiled === undefined) return require(file);
  const { text, cachedData } = compiled;
  const { createRequire, wrap } = require("node:module");
  const { Script } = require("node:vm");
  const script = new Script(wrap(text), { filename: file, cachedData });
  const program = { exports: {} };
  loaded.set(file, program);
  const requireOther = createRequire(file);
  const requireAny = (other) => (other.startsWith("./") ? load(other) : requireOther(other));
  script.runInThisContext()(program.exports, requireAny, program, file, __dirname);
  return program.exports;
}

/** Enables the compile cache of Node 22.8 and later, in an existing home, which no other user can write. */
function keepCompiled() {
  const { enableCompileCache } = require("node:module");
  if (enableCompileCache === undefined) return;
  const home = process.env.SERVICE_HOME || `${require("node:os").homedir()}/.service`;
  if (require("node:fs").existsSync(home)) enableCompileCache(`${home}/cache/node`);
}
