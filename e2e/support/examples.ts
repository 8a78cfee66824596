import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect } from "vitest";
import { makePlace, type Place, ROOT } from "./place.ts";
import { type Listed, listServices } from "./served.ts";

export const EXAMPLES = join(ROOT, "examples");
const PYTHON = join(ROOT, ".tools", "bin", "python");

/** The examples that a client uses and asserts. */
export const EXAMPLES_WITH_CLIENT = readdirSync(EXAMPLES).filter((name) =>
  existsSync(join(EXAMPLES, name, "client.py")),
);

/** Those, and `quickstart` and `tables`, texts that commands print. */
const ALL_EXAMPLES = readdirSync(EXAMPLES).filter((name) => existsSync(join(EXAMPLES, name, "app.py")));

interface Provider extends AsyncDisposable {
  readonly env: Readonly<Record<string, string>>;
}

/** Starts the `provider.py` of an example that calls one; its first line is the variable that holds its address. */
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

/** Copies an example into a folder of its own, as it was checked out; answers the folder. */
export function copyExample(name: string, place: Pick<Place, "project">): string {
  const folder = join(place.project, name);
  const filter = (path: string) => !path.includes("__pycache__");
  cpSync(join(EXAMPLES, name), folder, { recursive: true, filter });
  return folder;
}

/** Runs the client of an example against its services; answers what it printed. */
export async function runClient(place: Place, folder: string, services: readonly Listed[]): Promise<string> {
  const addresses = services.map(({ endpoint }) => endpoint);
  const client = await place.type(`cd "${folder}" && "${PYTHON}" client.py ${addresses.join(" ")}`);
  expect(client.code, `${client.stdout}${client.stderr}`).toBe(0);
  return client.stdout;
}

export interface ServedExample {
  readonly example: string;
  readonly services: readonly Listed[];
}

export interface ServedExamples extends AsyncDisposable {
  readonly place: Place;
  readonly examples: readonly ServedExample[];
}

/** A place with the providers that examples call: they share its home, each in its own folder and database. */
export async function makeExamplesPlace(): Promise<Place> {
  const providers = await Promise.all(ALL_EXAMPLES.map((name) => startProvider(join(EXAMPLES, name))));
  const place = makePlace({ env: Object.assign({}, ...providers.map(({ env }) => env)) });
  return {
    ...place,
    [Symbol.asyncDispose]: async () => {
      await place[Symbol.asyncDispose]();
      for (const provider of providers) await provider[Symbol.asyncDispose]();
    },
  };
}

/** The database of an example in a place that several share. */
export function databaseOf(example: string): string {
  // the client of the ledger changes its database, and knows it by this name
  return example === "ledger" ? "main" : example;
}

/** Serves every example in one home, each in a database of its own with the rows that its client makes. */
export async function serveExamples(): Promise<ServedExamples> {
  const place = await makeExamplesPlace();
  const end = () => place[Symbol.asyncDispose]();
  try {
    const examples: ServedExample[] = [];
    for (const example of ALL_EXAMPLES) examples.push(await serveExample(place, example));
    return { place, examples, [Symbol.asyncDispose]: end };
  } catch (error) {
    await end();
    throw error;
  }
}

async function serveExample(place: Place, example: string): Promise<ServedExample> {
  const folder = copyExample(example, place);
  const database = databaseOf(example);
  const update = `cli schema update app.py ${database} && cli service update app.py ${database} -f`;
  const updated = await place.type(`cd "${folder}" && ${update}`);
  expect(updated.code, `${updated.stdout}${updated.stderr}`).toBe(0);
  const services = await listServices(place, database);
  if (EXAMPLES_WITH_CLIENT.includes(example)) await runClient(place, folder, services);
  return { example, services };
}
