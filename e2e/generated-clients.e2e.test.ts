import { execFile } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Call, callsOf, type Document } from "./clients/sample.ts";
import { type ServedExamples, serveExamples } from "./support/examples.ts";
import { ensureOpenApiTools } from "./support/openapi-tools.ts";
import { ROOT } from "./support/place.ts";

interface Described {
  readonly name: string;
  readonly url: string;
  readonly file: string;
  readonly calls: readonly Call[];
}

type Answers = Readonly<Record<string, { readonly status: number; readonly parsed: string }>>;

const MODULES = join(ROOT, "node_modules");
const GENERATOR = join(ROOT, "e2e", "clients", "node_modules", "openapi-typescript", "bin", "cli.js");
/** What has a default may be left out. */
const FLAGS = ["--default-non-nullable=false"];

describe("the documents of the examples", () => {
  let served: ServedExamples;
  let bin: string;
  let folder: string;
  const services: Described[] = [];

  beforeAll(async () => {
    bin = await ensureOpenApiTools();
    served = await serveExamples();
    folder = join(served.place.project, "clients");
    mkdirSync(folder);
    symlinkSync(MODULES, join(folder, "node_modules"));
    writeFileSync(join(folder, "package.json"), '{"type": "module"}');
    for (const { example, services: listed } of served.examples) {
      for (const { name, endpoint } of listed) services.push(await describeOne(folder, `${example}_${name}`, endpoint));
    }
  }, 400_000);

  afterAll(() => served?.[Symbol.asyncDispose]());

  test("are OpenAPI 3.1", async () => {
    await run(
      join(bin, "openapi-spec-validator"),
      services.map(({ file }) => file),
      folder,
    );
  });

  test("make a TypeScript client that compiles under strict and calls every route", async () => {
    for (const { name, file, calls } of services) {
      const said = await run(process.execPath, [GENERATOR, file, ...FLAGS, "-o", `${name}.ts`], folder);
      expect(said).not.toMatch(/warn|error/i);
      writeFileSync(join(folder, `call_${name}.ts`), writeCalls(name, calls));
    }
    const compilerOptions = {
      ...{ strict: true, noEmit: true, target: "es2023", module: "nodenext", types: ["node"] },
      ...{ noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true, allowImportingTsExtensions: true },
    };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
    await run(join(MODULES, ".bin", "tsc"), ["-p", "."], folder);
    for (const { name, url, calls } of services) {
      const tsx = join(MODULES, "tsx", "dist", "cli.mjs");
      expectAnswers(name, calls, JSON.parse(await run(process.execPath, [tsx, `call_${name}.ts`, url], folder)));
    }
  }, 400_000);

  test("make a Python client without a warning, which calls every route", async () => {
    for (const { name, url, file, calls } of services) {
      const flags = ["--meta", "none", "--fail-on-warning", "--output-path", join(folder, `py_${name}`)];
      await run(join(bin, "openapi-python-client"), ["generate", "--path", file, ...flags], folder, bin);
      const args = [join(ROOT, "e2e", "clients", "call_all.py"), folder, `py_${name}`, url];
      expectAnswers(name, calls, JSON.parse(await run(join(bin, "python"), args, folder, bin, JSON.stringify(calls))));
    }
  }, 400_000);
});

async function describeOne(folder: string, title: string, endpoint: string | null): Promise<Described> {
  const name = title.replace(/\W/g, "_");
  const file = join(folder, `${name}.json`);
  const document = (await (await fetch(`${endpoint}/openapi.json`)).json()) as Document;
  writeFileSync(file, JSON.stringify(document));
  return { name, url: endpoint ?? "", file, calls: callsOf(document) };
}

/** Every call answered by a status of its document, read as what the document says; something worked. */
function expectAnswers(name: string, calls: readonly Call[], answers: Answers): void {
  expect(Object.keys(answers).sort(), name).toEqual(calls.map(({ id }) => id).sort());
  for (const { id, statuses, typed } of calls) {
    const status = `${answers[id]?.status}`;
    // documented by itself, as one of its hundred (redirections), or as what a handler may refuse with
    expect(
      [status, `${status.slice(0, 1)}XX`, "default"].some((one) => statuses.includes(one)),
      `${name} ${id}: ${status}`,
    ).toBe(true);
    if (typed.includes(status)) expect(answers[id]?.parsed, `${name} ${id}`).not.toMatch(/^(?:NoneType|undefined)$/);
  }
  expect(Object.values(answers).filter(({ status }) => status === 200).length, name).toBeGreaterThan(0);
}

function writeCalls(name: string, calls: readonly Call[]): string {
  const lines = calls.map(({ id, method, path, parameters, body, is_json }) => {
    const init = {
      ...(Object.keys(parameters).length > 0 ? { params: parameters } : {}),
      ...(body === undefined ? {} : { body }),
      ...(is_json ? {} : { parseAs: "text" }),
    };
    return `await report(${JSON.stringify(id)}, client.${method.toUpperCase()}(${JSON.stringify(path)}, ${JSON.stringify(init)}));`;
  });
  return `import createClient from "openapi-fetch";
import type { paths } from "./${name}.ts";

const client = createClient<paths>({ baseUrl: process.argv[2] ?? "", redirect: "manual" });
const answers: Record<string, { status: number; parsed: string }> = {};
async function report(id: string, call: Promise<{ data?: unknown; error?: unknown; response: Response }>): Promise<void> {
  const { data, error, response } = await call;
  answers[id] = { status: response.status, parsed: typeof (data ?? error) };
}
${lines.join("\n")}
process.stdout.write(JSON.stringify(answers));
`;
}

/** Runs a program that must end well; answers what it printed. */
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
