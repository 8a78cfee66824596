import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { openTestProject, ROOT, type TestProject } from "@appdb/testkit/test-project";
import { expect } from "vitest";
import { type Listed, listServices } from "./served.ts";

export const EXAMPLES = join(ROOT, "examples");
const PYTHON = join(ROOT, ".tools", "bin", "python");

/** Examples with a client that checks answers. */
export const EXAMPLES_WITH_CLIENT = readdirSync(EXAMPLES).filter((name) =>
  existsSync(join(EXAMPLES, name, "client.py")),
);

/** Those plus `quickstart` and `tables`, which commands print. */
export const ALL_EXAMPLES = readdirSync(EXAMPLES).filter((name) => existsSync(join(EXAMPLES, name, "app.py")));

interface Provider extends AsyncDisposable {
  readonly env: Readonly<Record<string, string>>;
}

/** Starts the `provider.py` of an example that calls one. Its first line is the variable with its address. */
async function startProvider(folder: string): Promise<Provider> {
  const file = join(folder, "provider.py");
  if (!existsSync(file)) return { env: {}, [Symbol.asyncDispose]: async () => {} };
  const child = spawn(PYTHON, ["-u", file], { stdio: ["ignore", "pipe", "inherit"] });
  const closed = once(child, "close");
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  const [name = "", value = ""] = line.split("=");
  return {
    env: { [name]: value },
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await closed;
    },
  };
}

/** Copies an example into a separate folder, as in a checkout. */
export function copyExample(name: string, project: Pick<TestProject, "folder">): void {
  const filter = (path: string) => !path.includes("__pycache__");
  cpSync(join(EXAMPLES, name), join(project.folder, name), { recursive: true, filter });
}

export interface ServedExample {
  readonly example: string;
  readonly services: readonly Listed[];
  /** Output of its client; empty without one. */
  readonly said: string;
}

/** Examples in one home, each with its own database and the rows of its client. */
export interface ServedExamples extends AsyncDisposable {
  readonly project: TestProject;
  /** Applies and serves an example and runs its client once; later calls return the same result. */
  serve(example: string): Promise<ServedExample>;
  /** All examples in order. */
  serveAll(): Promise<readonly ServedExample[]>;
}

/** Creates the examples' shared home. Examples are served on demand. */
export async function startExamples(): Promise<ServedExamples> {
  const project = await openExamplesProject();
  const served = new Map<string, Promise<ServedExample>>();
  const serve = (example: string) => {
    const one = served.get(example) ?? serveExample(project, example);
    served.set(example, one);
    return one;
  };
  return {
    project,
    serve,
    serveAll: async () => {
      const all: ServedExample[] = [];
      for (const example of ALL_EXAMPLES) all.push(await serve(example));
      return all;
    },
    [Symbol.asyncDispose]: () => project[Symbol.asyncDispose](),
  };
}

/** A project with the examples' providers. They share its home, each with its own folder and database. */
async function openExamplesProject(): Promise<TestProject> {
  const providers = await Promise.all(ALL_EXAMPLES.map((name) => startProvider(join(EXAMPLES, name))));
  const project = openTestProject({ env: Object.assign({}, ...providers.map(({ env }) => env)) });
  return {
    ...project,
    [Symbol.asyncDispose]: async () => {
      await project[Symbol.asyncDispose]();
      for (const provider of providers) await provider[Symbol.asyncDispose]();
    },
  };
}

/** Database of an example in a shared project. */
function databaseOf(example: string): string {
  // the ledger's client changes its database by this name
  return example === "ledger" ? "main" : example;
}

async function serveExample(project: TestProject, example: string): Promise<ServedExample> {
  const folder = join(project.folder, example);
  const database = databaseOf(example);
  const runIn = async (where: string, line: string) => {
    const ran = await project.type(`cd "${where}" && ${line}`);
    expect(ran.code, `${line}\n${ran.stdout}${ran.stderr}`).toBe(0);
    return ran.stdout;
  };
  const run = (line: string) => runIn(folder, line);
  await runIn(project.folder, `cli examples ${example}`);
  await run("cli schema check app.py");
  await run(`cli schema update app.py ${database}`);
  await run(`cli schema diff app.py ${database}`);
  await run(`cli service update app.py ${database} -f`);
  const services = await listServices(project, database);
  for (const { name, state, error } of services) expect(state, `${name}: ${error}`).toBe("AVAILABLE");
  if (!EXAMPLES_WITH_CLIENT.includes(example)) return { example, services, said: "" };
  const said = await run(`"${PYTHON}" client.py ${services.map(({ endpoint }) => endpoint).join(" ")}`);
  // the client must not have changed the agreement of file and database
  await run(`cli schema diff app.py ${database}`);
  return { example, services, said };
}
