// Runs a bundle like its entry file and stores the compiled code when it ends: node keep-compiled.cjs <bundle> <argument>...
const { chmodSync, readFileSync, renameSync, writeFileSync } = require("node:fs");
const { createRequire, wrap } = require("node:module");
const { dirname } = require("node:path");
const { Script } = require("node:vm");

process.argv.splice(1, 1);
const [, file] = process.argv;
const script = new Script(wrap(readFileSync(file, "latin1")), { filename: file });
const target = file.replace(/\.js$/, ".compiled");
process.on("exit", () => {
  writeFileSync(`${target}.new`, script.createCachedData());
  // the program may have set a strict umask, and other users run it
  chmodSync(`${target}.new`, 0o644);
  renameSync(`${target}.new`, target);
});
const program = { exports: {} };
script.runInThisContext()(program.exports, createRequire(file), program, file, dirname(file));
