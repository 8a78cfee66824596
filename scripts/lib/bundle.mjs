import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { keepCommandCompiled, keepPodCompiled, keepStartCompiled } from "./keep-compiled.mjs";
import { ROOT } from "./paths.mjs";

const VERSION = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).version;
/** Only these of swagger-ui are served; the rest of its distribution is for other ways to embed it. */
const SWAGGER_FILES = ["swagger-ui.css", "swagger-ui-bundle.js", "LICENSE", "NOTICE"];
/** Where the command finds its examples, beside its programs. */
const EXAMPLES = "examples";
/** `minify`: shorter names as well. Not in the pod, whose stack traces stand in logs. */
const PROGRAMS = [
  { name: "cli-main", entry: "apps/cli/src/main.ts", minify: true },
  { name: "cli-program", entry: "apps/cli/src/run-program.ts", minify: true },
  { name: "cli-config", entry: "apps/cli/src/project/read-config.ts", minify: true },
  // apps/runtime/src/http/no-schemas.ts
  {
    name: "pod-program",
    entry: "apps/runtime/src/main.ts",
    minify: false,
    left_out: ["@fastify/ajv-compiler", "@fastify/fast-json-stringify-compiler"],
  },
  // for those who trace
  { name: "traces", entry: "packages/system/src/traces/otlp-tracer.ts", minify: true },
  // pg-native is an addition that pg asks for and goes without
  { name: "server-program", entry: "apps/server/src/main.ts", minify: false, external: ["pg-native"] },
  // a process of the server's, in which documents of tenants are read (tenant-documents.ts)
  { name: "documents-worker", entry: "packages/python-runtime/src/documents/documents-worker.ts", minify: false },
  // the server starts it, as a process that ends neither with it nor by what it works at
  { name: "gateway-program", entry: "apps/server/src/gateway-process/main.ts", minify: false, external: ["pg-native"] },
];

/** Programs that are run as `<name>.js`: a short file that runs `<name>-program.js` by what was compiled of it. */
const DOORS = ["pod", "server", "gateway"];

/** What a bundle leaves to another one, loaded when it is called for: the less is read before Python is started, the better. */
const APART = {
  name: "apart",
  setup(build) {
    const apart = {
      "run-program.ts": "./cli-program.js",
      "read-config.ts": "./cli-config.js",
      "otlp-tracer.ts": "./traces.js",
    };
    build.onResolve({ filter: /\/(run-program|read-config|otlp-tracer)\.ts$/ }, ({ kind, path }) =>
      kind === "dynamic-import" ? { path: apart[path.slice(path.lastIndexOf("/") + 1)], external: true } : undefined,
    );
  },
};

/**
 * pg looks for Cloudflare's runtime by making an HTTP answer, for which Node 20 loads all of `fetch`: 25 ms and some
 * megabytes of each process. This is Node.
 */
const NODE_ONLY = {
  name: "node-only",
  setup(build) {
    build.onLoad({ filter: /\/pg\/lib\/stream\.js$/ }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      const contents = text.replace("if (isCloudflareRuntime())", "if (false)");
      if (contents === text) throw new Error(`${path} does not ask for the runtime as it did.`);
      return { contents, loader: "js" };
    });
  },
};

/** Packages that nothing of a program calls although something in it names them. */
function leftOut(names) {
  return {
    name: "left-out",
    setup(build) {
      for (const name of names) {
        build.onResolve({ filter: new RegExp(`^${name}$`) }, () => ({ path: name, namespace: "left-out" }));
      }
      build.onLoad({ filter: /./, namespace: "left-out" }, ({ path }) => ({
        contents: `throw new Error(${JSON.stringify(`${path} is left out of this program.`)});`,
      }));
    },
  };
}

/**
 * Bundles the command, the pod and the server, and puts what they read beside them: `cli.js` (the door), `cli-*.js`,
 * `pod.js`, `server.js` and `gateway.js` (doors too) and their `*-program.*`, `traces.js`, `documents-worker.js`, `server-migrations/`, `package.json` (so that Node takes them for CommonJS wherever they lie), `swagger-ui/` and `examples/`.
 *
 * CommonJS, because a bundle of ES modules loads all of Node's modules that any command imports before its first line
 * runs: with Node 24 that is 70 ms for `cli --version` where this is 24 and Node itself 22.
 */
export async function bundle(target) {
  mkdirSync(target, { recursive: true });
  for (const program of PROGRAMS) await bundleProgram(target, program);
  const door = readFileSync(join(ROOT, "scripts", "packaging", "cli-door.cjs"), "utf8");
  writeFileSync(join(target, "cli.js"), door.replace("@VERSION@", VERSION));
  for (const name of DOORS) writeDoor(target, name);
  writeFileSync(join(target, "package.json"), '{ "type": "commonjs" }\n');
  keepCommandCompiled(join(target, "cli-main.js"));
  keepPodCompiled(join(target, "pod-program.js"));
  for (const name of ["server", "gateway"]) keepStartCompiled(join(target, `${name}-program.js`));
  copySwagger(join(target, "swagger-ui"));
  copyExamples(join(target, EXAMPLES));
  rmSync(join(target, "server-migrations"), { recursive: true, force: true });
  cpSync(join(ROOT, "apps", "server", "migrations"), join(target, "server-migrations"), { recursive: true });
}

/** What is run under a program's name. It names the program's digest: who knows this file knows that one. */
function writeDoor(target, name) {
  const program = `${name}-program`;
  const digest = createHash("sha256")
    .update(readFileSync(join(target, `${program}.js`)))
    .digest("hex");
  const door = readFileSync(join(ROOT, "scripts", "packaging", "program-door.cjs"), "utf8");
  writeFileSync(join(target, `${name}.js`), door.replaceAll("@PROGRAM@", program).replace("@DIGEST@", digest));
}

/** The server with a test's entry in place of its own, under that name beside the other programs. */
export async function bundleTestServer(target, name, entry) {
  const server = PROGRAMS.find((program) => program.name === "server-program");
  await bundleProgram(target, { ...server, name, entry });
}

async function bundleProgram(target, { name, entry, minify, external = [], left_out = [] }) {
  const { build } = await import("esbuild");
  // Written beside and renamed: a daemon that starts meanwhile reads the old file or the new one, never half of it.
  const written = join(target, `${name}.js.${process.pid}.new`);
  await build({
    absWorkingDir: ROOT,
    entryPoints: [entry],
    outfile: written,
    bundle: true,
    platform: "node",
    target: "node20.19",
    format: "cjs",
    // import() of another bundle becomes require(): Node's loader of ES modules would take longer than the bundle
    supported: { "dynamic-import": false },
    conditions: ["source"],
    define: {
      EXAMPLES_FOLDER: JSON.stringify(`./${EXAMPLES}/`),
      "import.meta.url": "__bundleUrl",
      "import.meta.dirname": "__dirname",
    },
    banner: { js: 'const __bundleUrl=require("node:url").pathToFileURL(__filename).href;' },
    minifyWhitespace: true,
    minifySyntax: true,
    minifyIdentifiers: minify,
    legalComments: "none",
    external,
    logLevel: "warning",
    plugins: [APART, NODE_ONLY, leftOut(left_out)],
  });
  // it is of the bundle before, and V8 compares no more of a text than its length
  rmSync(join(target, `${name}.compiled`), { force: true });
  renameSync(written, join(target, `${name}.js`));
}

/** Without what Python leaves behind. */
function copyExamples(target) {
  rmSync(target, { recursive: true, force: true });
  cpSync(join(ROOT, "examples"), target, { recursive: true, filter: (path) => !path.endsWith("__pycache__") });
}

function copySwagger(target) {
  rmSync(target, { recursive: true, force: true });
  for (const file of SWAGGER_FILES) {
    cpSync(join(ROOT, "node_modules", "swagger-ui-dist", file), join(target, file));
  }
}
