// Runs a bundle as its door does, and keeps what was compiled of it, and of the bundles that it loads, until it ends:
// node keep-compiled.cjs <bundle> <argument>...
const { chmodSync, readFileSync, renameSync, writeFileSync } = require("node:fs");
const { createRequire, wrap } = require("node:module");
const { dirname } = require("node:path");
const { Script } = require("node:vm");
const { compiledFile, sealCompiled } = require("./read-compiled.cjs");

process.argv.splice(1, 1);
const bundles = new Map();
process.on("exit", () => {
  for (const [file, { script, source }] of bundles) {
    const target = compiledFile(file);
    writeFileSync(`${target}.new`, sealCompiled(source, script.createCachedData()));
    // the program may have set a umask of its own, and others run it
    chmodSync(`${target}.new`, 0o644);
    renameSync(`${target}.new`, target);
  }
});
load(process.argv[1]);

function load(file) {
  const known = bundles.get(file);
  if (known !== undefined) return known.program.exports;
  const source = readFileSync(file);
  const script = new Script(wrap(source.toString("latin1")), { filename: file });
  const program = { exports: {} };
  bundles.set(file, { script, source, program });
  const requireOther = createRequire(file);
  const requireAny = (name) => (name.startsWith("./") ? load(requireOther.resolve(name)) : requireOther(name));
  script.runInThisContext()(program.exports, requireAny, program, file, dirname(file));
  return program.exports;
}
