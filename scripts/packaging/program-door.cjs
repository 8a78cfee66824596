// Entry file of a program. It runs the bundle next to it with the compiled code of the build, because compiling takes half of
// Node's start time. Another version of Node rejects that code and compiles the bundle. The program: sha256 @DIGEST@
const { readFileSync } = require("node:fs");
const { createRequire, wrap } = require("node:module");
const { join } = require("node:path");
const { Script } = require("node:vm");
const { readCompiled } = require("./read-compiled.cjs");

const file = join(__dirname, "@PROGRAM@.js");
// bundles are ASCII
const { text, cachedData } = readCompiled(file) ?? { text: readFileSync(file, "latin1") };
const script = new Script(wrap(text), { filename: file, cachedData });
const program = { exports: {} };
script.runInThisContext()(program.exports, createRequire(file), program, file, __dirname);
