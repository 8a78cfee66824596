import { execFile } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "@appdb/testkit/test-project";
import { expect } from "vitest";
import { type Call, callsOf, type Document } from "../clients/sample.ts";
import type { ServedExample } from "./examples.ts";

/** A service with its document and a call of each operation. */
export interface Described {
  readonly name: string;
  readonly url: string;
  readonly file: string;
  readonly calls: readonly Call[];
}

/** Answers of each service's calls. */
export type Answers = Readonly<Record<string, Readonly<Record<string, Answer>>>>;

interface Answer {
  readonly status: number;
  readonly parsed: string;
}

const MODULES = join(ROOT, "node_modules");
const CLIENTS = join(ROOT, "e2e", "clients");
const GENERATOR = join(CLIENTS, "node_modules", "openapi-typescript", "bin", "cli.js");
/** Values with defaults are optional. */
const FLAGS = ["--default-non-nullable=false"];

/** Writes the document of each example service into this folder, where clients are generated. */
export async function describeServices(folder: string, examples: readonly ServedExample[]): Promise<Described[]> {
  mkdirSync(folder);
  symlinkSync(MODULES, join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), '{"type": "module"}');
  const listed = examples.flatMap(({ example, services }) =>
    services.map(({ name, endpoint }) => ({ name: `${example}_${name}`.replace(/\W/g, "_"), url: endpoint ?? "" })),
  );
  return await Promise.all(
    listed.map(async ({ name, url }) => {
      const file = join(folder, `${name}.json`);
      const document = (await (await fetch(`${url}/openapi.json`)).json()) as Document;
      writeFileSync(file, JSON.stringify(document));
      return { name, url, file, calls: callsOf(document) };
    }),
  );
}

/** Validates the documents against OpenAPI 3.1. */
export async function validateDocuments(folder: string, bin: string, services: readonly Described[]): Promise<void> {
  await run(
    join(bin, "openapi-spec-validator"),
    services.map(({ file }) => file),
    folder,
  );
}

/** Generates all TypeScript clients in one run and returns its output. */
export async function generateTypeScript(folder: string, services: readonly Described[]): Promise<string> {
  const apis = services.map(({ name }) => [name, { root: `${name}.json`, "x-openapi-ts": { output: `${name}.ts` } }]);
  writeFileSync(join(folder, "redocly.yaml"), JSON.stringify({ extends: ["minimal"], apis: Object.fromEntries(apis) }));
  return await run(process.execPath, [GENERATOR, ...FLAGS], folder);
}

/** Writes a program that calls every route by these clients, and compiles it with the strictest settings. */
export async function compileTypeScript(folder: string, services: readonly Described[]): Promise<void> {
  for (const { name, calls } of services) writeFileSync(join(folder, `call_${name}.ts`), writeCalls(name, calls));
  writeFileSync(join(folder, "main.ts"), MAIN);
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: "es2023",
    module: "nodenext",
    types: ["node"],
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    allowImportingTsExtensions: true,
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
  await run(join(MODULES, ".bin", "tsc"), ["-p", "."], folder);
}

/** Runs the program that `compileTypeScript` wrote. */
export async function callFromTypeScript(folder: string, services: readonly Described[]): Promise<Answers> {
  const urls = Object.fromEntries(services.map(({ name, url }) => [name, url]));
  const tsx = join(MODULES, "tsx", "dist", "cli.mjs");
  return JSON.parse(await run(process.execPath, [tsx, "main.ts", JSON.stringify(urls)], folder));
}

/** Generates Python clients and calls every route. Fails on any warning of the generator. */
export async function callFromPython(folder: string, bin: string, services: readonly Described[]): Promise<Answers> {
  const program = join(CLIENTS, "generate_and_call.py");
  return JSON.parse(await run(join(bin, "python"), [program, folder], folder, bin, JSON.stringify(services)));
}

/** Checks that every call got a documented status and body, and that at least one succeeded. */
export function expectAnswers(services: readonly Described[], answers: Answers): void {
  expect(Object.keys(answers).sort()).toEqual(services.map(({ name }) => name).sort());
  for (const { name, calls } of services) expectAnswered(name, calls, answers[name] ?? {});
}

function expectAnswered(name: string, calls: readonly Call[], answers: Readonly<Record<string, Answer>>): void {
  expect(Object.keys(answers).sort(), name).toEqual(calls.map(({ id }) => id).sort());
  for (const { id, statuses, typed } of calls) {
    const status = `${answers[id]?.status}`;
    // documented directly, by its class (redirections), or as a refusal of handlers
    expect(
      [status, `${status.slice(0, 1)}XX`, "default"].some((one) => statuses.includes(one)),
      `${name} ${id}: ${status}`,
    ).toBe(true);
    if (typed.includes(status)) expect(answers[id]?.parsed, `${name} ${id}`).not.toMatch(/^(?:NoneType|undefined)$/);
  }
  expect(Object.values(answers).filter(({ status }) => status === 200).length, name).toBeGreaterThan(0);
}

const MAIN = `const answers: Record<string, unknown> = {};
for (const [name, url] of Object.entries(JSON.parse(process.argv[2] ?? "{}"))) {
  answers[name] = await (await import(\`./call_\${name}.ts\`)).callAll(url);
}
process.stdout.write(JSON.stringify(answers));
`;

function writeCalls(name: string, calls: readonly Call[]): string {
  const lines = calls.map(({ id, method, path, parameters, body, is_json: isJson }) => {
    const init = {
      ...(Object.keys(parameters).length > 0 ? { params: parameters } : {}),
      ...(body === undefined ? {} : { body }),
      ...(isJson ? {} : { parseAs: "text" }),
    };
    return `  await report(${JSON.stringify(id)}, client.${method.toUpperCase()}(${JSON.stringify(path)}, ${JSON.stringify(init)}));`;
  });
  return `import createClient from "openapi-fetch";
import type { paths } from "./${name}.ts";

type Answers = Record<string, { status: number; parsed: string }>;

export async function callAll(baseUrl: string): Promise<Answers> {
  const client = createClient<paths>({ baseUrl, redirect: "manual" });
  const answers: Answers = {};
  async function report(id: string, call: Promise<{ data?: unknown; error?: unknown; response: Response }>): Promise<void> {
    const { data, error, response } = await call;
    answers[id] = { status: response.status, parsed: typeof (data ?? error) };
  }
${lines.join("\n")}
  return answers;
}
`;
}

/** Runs a program that must succeed and returns its output. */
async function run(program: string, args: readonly string[], cwd: string, bin?: string, input = ""): Promise<string> {
  const PATH = bin === undefined ? process.env.PATH : `${bin}${delimiter}${process.env.PATH}`;
  const options = { cwd, env: { ...process.env, PATH, NO_COLOR: "1" }, maxBuffer: 64_000_000, timeout: 300_000 };
  const running = promisify(execFile)(program, args, options);
  running.child.stdin?.end(input);
  const done = await running.catch((error) => {
    throw new Error(`${program} ${args.join(" ")}\n${error.stdout}${error.stderr}`, { cause: error });
  });
  return done.stdout;
}
