import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bundleCommand } from "./bundle-command.mjs";
import { keepCommandCompiled, keepPodCompiled, keepStartCompiled } from "./keep-compiled.mjs";
import { ROOT } from "./paths.mjs";

const VERSION = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).version;
/** Only these files of swagger-ui are served; the others are for different ways to embed it. */
const SWAGGER_FILES = ["swagger-ui.css", "swagger-ui-bundle.js", "LICENSE", "NOTICE"];
/** Folder of the command's examples next to its programs. */
const EXAMPLES = "examples";
/** Folders of migrations next to the programs, and where each is in the sources. */
const MIGRATIONS = {
  "catalog-migrations": "packages/engine/migrations",
  "server-migrations": "apps/server/migrations",
};
/** `minify` also shortens names; with `keeps_names`, classes and functions still tell theirs. Not for the pod, whose stack traces appear in logs. */
const PROGRAMS = [
  { name: "cli-config", entry: "apps/cli/src/project/read-config.ts", minify: true },
  // only for files of Parquet
  { name: "cli-parquet", entry: "apps/cli/src/row-files/parquet.ts", minify: true },
  // apps/runtime/src/http/no-schemas.ts
  {
    name: "pod-program",
    entry: "apps/runtime/src/main.ts",
    minify: false,
    left_out: ["@fastify/ajv-compiler", "@fastify/fast-json-stringify-compiler"],
  },
  // loaded only for tracing
  { name: "traces", entry: "packages/system/src/traces/otlp-tracer.ts", minify: true },
  // the SDK of a cloud is loaded with the first store of it; they compare names of classes, such as AbortSignal
  { name: "s3-store", entry: "packages/media/src/stores/s3-store.ts", minify: true, keeps_names: true },
  { name: "gcs-store", entry: "packages/media/src/stores/gcs-store.ts", minify: true, keeps_names: true },
  { name: "azure-store", entry: "packages/media/src/stores/azure-store.ts", minify: true, keeps_names: true },
  // pg-native is an optional dependency of pg
  { name: "server-program", entry: "apps/server/src/main.ts", minify: false, external: ["pg-native"] },
  // child process of the server that reads tenants' documents (tenant-documents.ts)
  { name: "documents-worker", entry: "packages/python-runtime/src/documents/documents-worker.ts", minify: false },
  // a separate process that the server starts: it must end neither with the server nor by its load
  { name: "gateway-program", entry: "apps/server/src/gateway-process/main.ts", minify: false, external: ["pg-native"] },
];

/** Programs that run as `<name>.js`: a short file that loads `<name>-program.js` with its compiled code. */
const DOORS = ["pod", "server", "gateway"];

/**
 * Modules that a bundle leaves to another one, loaded on demand. Less code before Python's start makes commands faster.
 */
const APART = {
  name: "apart",
  setup(build) {
    const apart = {
      "read-config.ts": "./cli-config.js",
      "parquet.ts": "./cli-parquet.js",
      "otlp-tracer.ts": "./traces.js",
      "s3-store.ts": "./s3-store.js",
      "gcs-store.ts": "./gcs-store.js",
      "azure-store.ts": "./azure-store.js",
    };
    build.onResolve({ filter: /\/(read-config|parquet|otlp-tracer|(?:s3|gcs|azure)-store)\.ts$/ }, ({ kind, path }) =>
      kind === "dynamic-import" ? { path: apart[path.slice(path.lastIndexOf("/") + 1)], external: true } : undefined,
    );
  },
};

/**
 * pg detects Cloudflare's runtime by creating an HTTP response, for which Node 20 loads all of `fetch`: 25 ms and some
 * megabytes per process. This is Node.
 */
const NODE_ONLY = {
  name: "node-only",
  setup(build) {
    build.onLoad({ filter: /\/pg\/lib\/stream\.js$/ }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      const contents = text.replace("if (isCloudflareRuntime())", "if (false)");
      if (contents === text) throw new Error(`${path} no longer detects the runtime in the known way.`);
      return { contents, loader: "js" };
    });
  },
};

/** Packages that a program names but never calls. */
function leftOut(names) {
  return {
    name: "left-out",
    setup(build) {
      for (const name of names) {
        build.onResolve({ filter: new RegExp(`^${name}$`) }, () => ({ path: name, namespace: "left-out" }));
      }
      build.onLoad({ filter: /./, namespace: "left-out" }, ({ path }) => ({
        contents: `throw new Error(${JSON.stringify(`${path} is not part of this program.`)});`,
      }));
    },
  };
}

/**
 * Bundles the command, the pod and the server, and puts the files that they read next to them: `cli.js` (the door),
 * `cli-main.js`, `cli-program.js` and `cli-more.js` (the command, divided by bundle-command.mjs), `cli-config.js` and `cli-parquet.js`,
 * `pod.js`, `server.js` and `gateway.js` (doors too) and their `*-program.*`, `read-compiled.cjs`, `traces.js`, `documents-worker.js`, `catalog-migrations/`, `server-migrations/`, `package.json` (so that Node takes them for CommonJS wherever they lie), `swagger-ui/` and `examples/`.
 *
 * All programs contain `buildId`, by which a command recognizes a daemon or server of other sources.
 *
 * CommonJS, because an ES module bundle loads all of Node's modules that any command imports before its first line
 * runs. With Node 24, `cli --version` takes 70 ms that way and 24 ms this way; Node itself takes 22 ms.
 */
export async function bundle(target, buildId) {
  mkdirSync(target, { recursive: true });
  for (const program of PROGRAMS) await bundleProgram(target, { ...program, build_id: buildId });
  await bundleCommand(target, optionsOf({ minify: true, build_id: buildId }));
  const door = readFileSync(join(ROOT, "scripts", "packaging", "cli-door.cjs"), "utf8");
  writeFileSync(join(target, "cli.js"), door.replace("@VERSION@", VERSION));
  for (const name of DOORS) writeDoor(target, name);
  cpSync(join(ROOT, "scripts", "packaging", "read-compiled.cjs"), join(target, "read-compiled.cjs"));
  writeFileSync(join(target, "package.json"), '{ "type": "commonjs" }\n');
  for (const [name, source] of Object.entries(MIGRATIONS)) copyFolder(join(ROOT, source), join(target, name));
  keepCommandCompiled(join(target, "cli-main.js"));
  keepPodCompiled(join(target, "pod-program.js"));
  for (const name of ["server", "gateway"]) keepStartCompiled(join(target, `${name}-program.js`));
  copySwagger(join(target, "swagger-ui"));
  copyFolder(join(ROOT, "examples"), join(target, EXAMPLES));
}

/** Writes the entry file of a program. It contains the program's digest, so this file identifies the program. */
function writeDoor(target, name) {
  const program = `${name}-program`;
  const digest = createHash("sha256")
    .update(readFileSync(join(target, `${program}.js`)))
    .digest("hex");
  const door = readFileSync(join(ROOT, "scripts", "packaging", "program-door.cjs"), "utf8");
  writeFileSync(join(target, `${name}.js`), door.replaceAll("@PROGRAM@", program).replace("@DIGEST@", digest));
}

/** Bundles the server with a test's entry point under that name, next to the other programs. */
export async function bundleTestServer(target, name, entry) {
  const server = PROGRAMS.find((program) => program.name === "server-program");
  await bundleProgram(target, { ...server, name, entry, build_id: "test" });
}

async function bundleProgram(target, program) {
  const { build_id: buildId, name, entry, minify, keeps_names = false, external = [], left_out = [] } = program;
  const { build } = await import("esbuild");
  // Written to a sibling and renamed, so that a daemon that starts meanwhile never reads an incomplete file.
  const written = join(target, `${name}.js.${process.pid}.new`);
  await build({
    ...optionsOf({ minify, build_id: buildId }),
    absWorkingDir: ROOT,
    entryPoints: [entry],
    outfile: written,
    format: "cjs",
    keepNames: keeps_names,
    external,
    plugins: [APART, NODE_ONLY, leftOut(left_out)],
  });
  // made from the previous bundle
  rmSync(join(target, `${name}.compiled`), { force: true });
  renameSync(written, join(target, `${name}.js`));
}

/** The options of esbuild for every program. */
function optionsOf({ minify, build_id: buildId }) {
  return {
    bundle: true,
    platform: "node",
    target: "node20.19",
    // import() of another bundle becomes require(), because Node's ES module loader would take longer than the bundle
    supported: { "dynamic-import": false },
    conditions: ["source"],
    define: {
      BUILD_ID: JSON.stringify(buildId),
      EXAMPLES_FOLDER: JSON.stringify(`./${EXAMPLES}/`),
      "import.meta.url": "__bundle.url",
      "import.meta.dirname": "__dirname",
    },
    // most runs of a bundle need no URL of it
    banner: { js: 'const __bundle={get url(){return require("node:url").pathToFileURL(__filename).href}};' },
    minifyWhitespace: true,
    minifySyntax: true,
    minifyIdentifiers: minify,
    legalComments: "none",
    logLevel: "warning",
    plugins: [APART, NODE_ONLY],
  };
}

/** Without files that Python generates. */
function copyFolder(source, target) {
  rmSync(target, { recursive: true, force: true });
  cpSync(source, target, { recursive: true, filter: (path) => !path.endsWith("__pycache__") });
}

function copySwagger(target) {
  rmSync(target, { recursive: true, force: true });
  for (const file of SWAGGER_FILES) {
    cpSync(join(ROOT, "node_modules", "swagger-ui-dist", file), join(target, file));
  }
}
