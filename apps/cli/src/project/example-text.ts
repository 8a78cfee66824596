import { readFileSync } from "node:fs";

export type ExampleName = "quickstart" | "tables" | "brief";

/** Set by the bundler: the texts of the example files. */
declare const EXAMPLE_FILES: Readonly<Record<ExampleName, string>> | undefined;

const PATHS = {
  quickstart: "quickstart/app.py",
  tables: "tables/app.py",
  brief: "tables/brief.py",
} as const satisfies Record<ExampleName, string>;

/** An example application: from the bundle, from source the file itself. */
export function exampleText(name: ExampleName): string {
  if (typeof EXAMPLE_FILES === "object") return EXAMPLE_FILES[name];
  return readFileSync(new URL(`../../../../examples/${PATHS[name]}`, import.meta.url), "utf8");
}
