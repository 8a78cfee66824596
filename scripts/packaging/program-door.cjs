// A program's first file. It runs the bundle beside it with what the build has kept of its compiled code: compiling takes half as long
// as Node's own start. Another version of Node refuses that code and compiles for itself. The program: sha256 @DIGEST@
const { readFileSync } = require("node:fs");
const { createRequire, wrap } = require("node:module");
const { join } = require("node:path");
const { Script } = require("node:vm");

const file = join(__dirname, "@PROGRAM@.js");
// bundles are written in ASCII
const script = new Script(wrap(readFileSync(file, "latin1")), { filename: file, cachedData: readCompiled() });
const program = { exports: {} };
script.runInThisContext()(program.exports, createRequire(file), program, file, __dirname);

function readCompiled() {
  try {
    return readFileSync(join(__dirname, "@PROGRAM@.compiled"));
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}
