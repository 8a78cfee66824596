import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { ARRAY_ENDING, ENDINGS, MARKS, WORKBOOKS } from "../../apps/cli/src/row-files/row-formats.ts";
import { ROOT, TOOLS_PYTHON } from "./paths.mjs";

/** The stubs of the Python library, generated from its code, and its tables of other code, by path from the root of the checkout. */
export function pythonStubs(): Record<string, string> {
  const printed = execFileSync(TOOLS_PYTHON, ["-B", join(ROOT, "scripts", "print-stubs.py")]);
  const stubs = JSON.parse(printed.toString()) as Record<string, string>;
  return { ...stubs, "python/appdb/client/rows/row_formats.py": rowFormats() };
}

/** How the library recognizes files of rows: as the command does. */
function rowFormats(): string {
  const workbooks = WORKBOOKS.map((ending) => [ending, "workbook"]);
  const endings = [...Object.entries(ENDINGS), [ARRAY_ENDING, "json"], ...workbooks];
  const marks = Object.entries(MARKS).map(([format, mark]) => [bytesOf(mark), format]);
  return [
    '"""How files of rows are recognized. `npm run docs` writes this file from row-formats.ts of the command."""',
    "",
    "#: The formats of the endings of files' names. Other files are recognized by their content.",
    "ENDINGS = {",
    ...endings.map(([ending, format]) => `    "${ending}": "${format}",`),
    "}",
    "#: The first bytes of files that are not text.",
    "MARKS = {",
    ...marks.map(([mark, format]) => `    ${mark}: "${format}",`),
    "}",
    "",
  ].join("\n");
}

function bytesOf(mark: string): string {
  const hex = Buffer.from(mark, "latin1").toString("hex");
  return `b"${hex.replace(/../g, "\\x$&")}"`;
}
