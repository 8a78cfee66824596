import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./paths.mjs";

/** Only these of swagger-ui are served; the rest of its distribution is for other ways to embed it. */
const SWAGGER_FILES = ["swagger-ui.css", "swagger-ui-bundle.js", "LICENSE", "NOTICE"];
const PROGRAMS = { cli: "apps/cli/src/main.ts", pod: "apps/pod/src/main.ts" };
/** What `cli service example` prints. */
const EXAMPLE = join(ROOT, "examples", "quickstart", "app.py");
/** Packages of CommonJS call require for Node's own modules; a module of ESM has to bring it. */
const REQUIRE =
  'import{createRequire as __createRequire}from"node:module";const require=__createRequire(import.meta.url);';

/**
 * Bundles the command and the pod into one file each, and what they read beside them: `cli.js`, `pod.js`,
 * `package.json` (so that Node knows them as modules wherever they lie) and `swagger-ui/`.
 */
export async function bundle(target) {
  const { build } = await import("esbuild");
  mkdirSync(target, { recursive: true });
  for (const [name, entry] of Object.entries(PROGRAMS)) {
    // Written beside and renamed: a daemon that starts meanwhile reads the old file or the new one, never half of it.
    const written = join(target, `${name}.js.new`);
    await build({
      absWorkingDir: ROOT,
      entryPoints: [entry],
      outfile: written,
      bundle: true,
      platform: "node",
      target: "node20.19",
      format: "esm",
      conditions: ["source"],
      define: { EXAMPLE_APP_PY: JSON.stringify(readFileSync(EXAMPLE, "utf8")) },
      // Node compiles less when there is less of it; names stay for stack traces.
      minifyWhitespace: true,
      minifySyntax: true,
      keepNames: false,
      banner: { js: REQUIRE },
      legalComments: "none",
      logLevel: "warning",
    });
    renameSync(written, join(target, `${name}.js`));
  }
  writeFileSync(join(target, "package.json"), '{ "type": "module" }\n');
  copySwagger(join(target, "swagger-ui"));
}

function copySwagger(target) {
  rmSync(target, { recursive: true, force: true });
  for (const file of SWAGGER_FILES) {
    cpSync(join(ROOT, "node_modules", "swagger-ui-dist", file), join(target, file));
  }
}
