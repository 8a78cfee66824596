import { mkdirSync, renameSync } from "node:fs";
import { basename, join } from "node:path";
import { build } from "esbuild";
import { findCheckout } from "./postgres-binaries.ts";

/** A program in its production form, which starts in a tenth of the time of its sources; `built-programs-setup.ts`
 *  has built it. */
export function builtProgram(name: "pod" | "server"): string {
  return join(findCheckout(import.meta.dirname), "dist", `${name}.js`);
}

const scripts = new Map<string, Promise<string>>();

/** Bundles a script that tests start as a separate process, once per process. Returns the bundle for plain Node. */
export function bundleScript(entry: string): Promise<string> {
  const known = scripts.get(entry) ?? writeBundle(entry);
  scripts.set(entry, known);
  return known;
}

async function writeBundle(entry: string): Promise<string> {
  const folder = join(findCheckout(import.meta.dirname), "dist", "tests");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${basename(entry, ".ts")}.mjs`);
  // Another process may write the same bundle. The rename makes sure that readers see a whole file.
  const written = `${file}.${process.pid}.new`;
  await build({
    entryPoints: [entry],
    outfile: written,
    bundle: true,
    platform: "node",
    target: "node20.19",
    format: "esm",
    conditions: ["source"],
    // Modules from CommonJS load Node's modules by `require`.
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    external: ["pg-native"],
    logLevel: "warning",
  });
  renameSync(written, file);
  return file;
}
