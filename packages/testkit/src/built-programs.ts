import { mkdirSync, renameSync } from "node:fs";
import { basename, join } from "node:path";
import { build } from "esbuild";
import { findCheckout } from "./postgres-binaries.ts";

/** A program as people run it, which starts in a tenth of the time that its sources take; `built-programs-setup.ts` has built it. */
export function builtProgram(name: "pod" | "server"): string {
  return join(findCheckout(import.meta.dirname), "dist", `${name}.js`);
}

const scripts = new Map<string, Promise<string>>();

/** Bundles a script that tests start as a process of their own, once in a process; answers the bundle, which plain Node runs. */
export function bundleScript(entry: string): Promise<string> {
  const known = scripts.get(entry) ?? writeBundle(entry);
  scripts.set(entry, known);
  return known;
}

async function writeBundle(entry: string): Promise<string> {
  const folder = join(findCheckout(import.meta.dirname), "dist", "tests");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${basename(entry, ".ts")}.mjs`);
  // another process may bundle the same: whoever starts it reads one whole file or the other
  const written = `${file}.${process.pid}.new`;
  await build({
    entryPoints: [entry],
    outfile: written,
    bundle: true,
    platform: "node",
    target: "node20.19",
    format: "esm",
    conditions: ["source"],
    // what came as CommonJS asks for Node's modules by `require`
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    external: ["pg-native"],
    logLevel: "warning",
  });
  renameSync(written, file);
  return file;
}
