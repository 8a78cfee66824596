import { AppError, appError } from "@appdb/contract/errors";
import type { Manifest } from "@appdb/contract/manifest";
import { parseTarget } from "@appdb/contract/names";
import type { QueryExplanation } from "@appdb/contract/routes/local";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { alignColumns } from "../../output/columns.ts";
import type { Output } from "../../output/output.ts";
import { ANY_TARGET, FILE, PYTHON_FLAG, text } from "../parameters.ts";
import { readBoth } from "../read-both.ts";

interface Flags extends JsonFlag {
  readonly python?: string;
  readonly param?: readonly (readonly [name: string, value: string])[];
  readonly analyze: boolean;
}

export const explain = defineCommand<Flags, [file: string, target: string, query: string], QueryExplanation>({
  brief: "Show a query's statement, what runs where, and PostgreSQL's plan",
  examples: [
    ["cli query explain app.py main newest", "the statement and its plan for any values"],
    ["cli query explain app.py main by_title --param title=Hello", "the plan for these values"],
    ["cli query explain app.py main by_title --param title=Hello --analyze", "run it and show where the time goes"],
    ["cli query explain app.py cloud://acme:main newest", "of a hosted database, by its own files"],
  ],
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [FILE, ANY_TARGET, { brief: "Name of the query's function", placeholder: "QUERY", parse: text }],
    },
    flags: {
      python: PYTHON_FLAG,
      param: {
        kind: "parsed",
        parse: parseParameter,
        optional: true,
        variadic: true,
        brief: "Value of a parameter, name=value; may be repeated",
        placeholder: "name=value",
      },
      analyze: { kind: "boolean", brief: "Run the statement and measure it", default: false },
    },
  },
  run: async (ctx, flags, file, target, query) => {
    const place = parseTarget(target);
    const question = { query, params: Object.fromEntries(flags.param ?? []), analyze: flags.analyze };
    if (place.kind === "hosted") {
      const { openDeployedFile } = await import("../schema/hosted-schema.ts");
      const { body, client, params } = await openDeployedFile(ctx, { file, python: flags.python }, place);
      return await client.call("queryExplain", { params, body: { ...body, ...question } }, { signal: ctx.signal });
    }
    const [app, client] = await readBoth(ctx, { file, python: flags.python });
    const { manifest } = app;
    const body = { target: place.text, manifest, ...question };
    return await client.call("queryExplain", { body }, { signal: ctx.signal }).catch((error: unknown) => {
      throw error instanceof AppError && error.code === "invalid_request" ? withFlags(error, manifest, query) : error;
    });
  },
  render: printExplanation,
});

/** An error of parameters. Its hint names the flags, because there is no route here. */
function withFlags(error: AppError, { queries }: Manifest, name: string): AppError {
  const query = queries.find((candidate) => candidate.name === name || candidate.id === name);
  if (query === undefined) return error;
  const flags = query.parameters.map((parameter) => `--param ${parameter.name}=...`).join(" ");
  const { cause, errors, meta } = error;
  const hint = flags === "" ? "Remove --param: the query has no parameters." : `Give values by flags: ${flags}`;
  return appError("invalid_request", { detail: error.message, hint, errors, meta, cause });
}

/** Parses `name=value`; the value may contain any characters. */
function parseParameter(input: string): [string, string] {
  const sign = input.indexOf("=");
  if (sign > 0) return [input.slice(0, sign), input.slice(sign + 1)];
  throw new Error("a parameter has the form name=value");
}

function printExplanation(found: QueryExplanation, out: Output): void {
  const inPython = found.parts.filter((part) => part.runs_in === "Python").length;
  const where = inPython === 0 ? "one SQL statement" : "SQL and Python";
  out.line(`${found.query} (${found.source.file}:${found.source.line}): ${where}`);
  const rows = found.parts.map((part) => [part.clause, part.runs_in, part.why ?? part.what]);
  for (const line of alignColumns(rows)) out.line(`    ${line}`);
  found.statements.forEach((statement, at) => {
    out.line("");
    out.line(found.statements.length === 1 ? "Statement:" : `Statement ${at + 1} of ${found.statements.length}:`);
    for (const line of statement.split("\n")) out.line(`    ${line}`);
  });
  out.line("");
  out.line("PostgreSQL's plan:");
  for (const line of found.plan) out.line(`    ${line}`);
}
