// Entry file of the command. It is small because loading and compiling the rest takes half of Node's start time.
const { existsSync, readFileSync } = require("node:fs");

/** Each of these commands stores its own compiled code. All others share theirs. */
const FREQUENT = "@FREQUENT@".split(",");
/** A bundle begins with it, in a comment. */
const DIGEST_BYTES = "// sha256 ".length + 64;

const typed = process.argv.slice(2);
const loaded = new Map();
if (typed.length === 1 && (typed[0] === "--version" || typed[0] === "-v")) {
  process.stdout.on("error", ({ message }) => {
    process.stderr.write(`error: The output of the command cannot be written: ${message}.\n`);
    process.exit(1);
  });
  process.stdout.write("@VERSION@\n");
} else load("./cli-main.js", openCache());

/** Loads a bundle next to this file, once. */
function load(name, cache) {
  const known = loaded.get(name);
  if (known !== undefined) return known.exports;
  const { Script } = require("node:vm");
  const filename = `${__dirname}${name.slice(1)}`;
  const source = readFileSync(filename);
  const cachedData = cache?.read(name, source);
  // bundles are ASCII
  const text = `(function(exports,require,module,__filename,__dirname){${source.latin1Slice()}\n})`;
  const script = new Script(text, { filename, cachedData });
  if (cachedData === undefined || script.cachedDataRejected) cache?.keepAtExit(name, source, script);
  const program = { exports: {} };
  loaded.set(name, program);
  const requireAny = (other) => (other.startsWith("./") ? load(other, cache) : require(other));
  script.runInThisContext()(program.exports, requireAny, program, filename, __dirname);
  return program.exports;
}

/**
 * V8's compiled code of the bundles, in an existing home. Node's own cache (`enableCompileCache`) has files as they are before
 * they run, without most of their functions; this one has the functions that the command has used. Undefined without a home.
 */
function openCache() {
  const home = process.env.SERVICE_HOME || `${require("node:os").homedir()}/.service`;
  if (!existsSync(home)) return undefined;
  const folder = `${home}/cache/command/@VERSION@-${process.version}-${process.arch}`;
  const command = nameCommand();
  const pathOf = (name) => `${folder}/${command}.${name.slice("./".length, -".js".length)}`;
  const compiled = [];
  return {
    read(name, source) {
      const stored = readIfOwn(pathOf(name));
      // V8 compares only the length of the source. Checking the code itself would cost what it saves: it is on the disk before it gets its name.
      const isMade = stored?.subarray(0, DIGEST_BYTES).equals(source.subarray(0, DIGEST_BYTES));
      return isMade ? stored.subarray(DIGEST_BYTES) : undefined;
    },
    keepAtExit(name, source, script) {
      compiled.push({ name, source, script });
      if (compiled.length > 1) return;
      process.on("exit", (status) => {
        // a command that failed has not used all that it needs
        if (status !== 0 && status !== 2) return;
        for (const { name, source, script } of compiled) {
          const digest = source.subarray(0, DIGEST_BYTES);
          replaceFile(folder, pathOf(name), Buffer.concat([digest, script.createCachedData()]));
        }
      });
    },
  };
}

/** The name of a frequent command, and `other` for the rest. Hosted targets and help need other functions. */
function nameCommand() {
  const [noun, verb] = typed;
  const name = FREQUENT.find((one) => one === noun || one === `${noun} ${verb}`);
  if (name === undefined || typed.includes("--help") || typed.includes("-h")) return "other";
  const place = typed.some((word) => word.startsWith("cloud:")) ? "-hosted" : "";
  return `${name.replace(" ", "-")}${place}`;
}

/** Another user's file is not run: root may use the home of a user. */
function readIfOwn(path) {
  const { closeSync, fstatSync, openSync } = require("node:fs");
  let file;
  try {
    file = openSync(path);
  } catch {
    // it is made at the end
    return undefined;
  }
  try {
    return process.getuid === undefined || fstatSync(file).uid === process.getuid() ? readFileSync(file) : undefined;
  } finally {
    closeSync(file);
  }
}

/** A file is replaced when it is complete. Without it, the next command only takes longer to start. */
function replaceFile(folder, path, bytes) {
  const { mkdirSync, renameSync, rmSync, writeFileSync } = require("node:fs");
  const written = `${path}.${process.pid}.new`;
  const isReplaced = attempt(() => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(written, bytes, { mode: 0o600, flush: true });
    renameSync(written, path);
  });
  if (!isReplaced) attempt(() => rmSync(written, { force: true }));
}

function attempt(work) {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}
