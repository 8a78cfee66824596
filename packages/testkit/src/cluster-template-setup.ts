import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** The folder in which link-cluster-template.ts makes the template of the clusters of hosted databases. */
    template_folder: string;
  }
}

/** vitest's globalSetup: a folder for the template of hosted clusters, which all test files of a run share. */
export function setup(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), "appdb-template-"));
  project.provide("template_folder", folder);
  return () => rmSync(folder, { recursive: true, force: true });
}
