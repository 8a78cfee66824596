import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { count, countTables } from "../../output/count.ts";
import { FILE, PYTHON_FLAG } from "../parameters.ts";

interface Flags extends JsonFlag {
  readonly python?: string;
}

/** Description of a valid file. An invalid one is an error (`app_invalid`) with file and line. */
interface CheckedFile {
  readonly file: string;
  readonly valid: true;
  /** Empty for a valid file; otherwise the problem is printed instead. */
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
  readonly tables: readonly { readonly name: string; readonly view_of: string | null; readonly columns: number }[];
  readonly functions: readonly string[];
  readonly python: string;
  readonly python_source: string;
}

export const check = defineCommand<Flags, [file: string], CheckedFile>({
  brief: "Check the file's tables and functions; no database is needed",
  examples: [
    ["cli schema check app.py", "report errors of app.py with their lines"],
    ["cli schema check app.py --python .venv/bin/python", "with the Python of an environment"],
  ],
  parameters: {
    positional: { kind: "tuple", parameters: [FILE] },
    flags: { python: PYTHON_FLAG },
  },
  run: async (ctx, flags, file) => {
    const { manifest, runtime } = await ctx.readApplication({ file, python: flags.python });
    await ctx.checkApplication(manifest);
    return {
      file: manifest.app_file,
      valid: true,
      errors: [],
      // manifests of an older library have none
      warnings: manifest.warnings ?? [],
      tables: manifest.tables.map(({ name, columns, view }) => ({
        name,
        view_of: view?.base ?? null,
        columns: columns.length,
      })),
      functions: manifest.functions.map((fn) => fn.id),
      python: runtime.python,
      python_source: runtime.python_source,
    };
  },
  render: (checked, out) => {
    const views = checked.tables.filter((table) => table.view_of !== null).length;
    out.line(
      `${checked.file} is valid: ${countTables(checked.tables.length - views, views)}, ${count(checked.functions.length, "function")}`,
    );
    for (const { name, view_of: base, columns } of checked.tables) {
      out.line(
        `    ${name}  ${base === null ? "" : `view of ${base}, `}${count(columns, base === null ? "column" : "own column")}`,
      );
    }
    out.line(`Python: ${checked.python} (${checked.python_source})`);
    for (const warning of checked.warnings) out.note(`warning: ${warning}`);
  },
});
