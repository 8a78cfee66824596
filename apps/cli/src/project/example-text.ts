import { readFileSync } from "node:fs";

/** Set by the bundler: the text of examples/quickstart/app.py. */
declare const EXAMPLE_APP_PY: string | undefined;

/** The example application: from the bundle, from source the file itself. */
export function exampleText(): string {
  if (typeof EXAMPLE_APP_PY === "string") return EXAMPLE_APP_PY;
  return readFileSync(new URL("../../../../examples/quickstart/app.py", import.meta.url), "utf8");
}
