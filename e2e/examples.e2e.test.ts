import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EXAMPLES_WITH_CLIENT, type ServedExamples, startExamples } from "./support/examples.ts";
import { fuzzExamples } from "./support/fuzz-examples.ts";
import {
  callFromPython,
  callFromTypeScript,
  compileTypeScript,
  type Described,
  describeServices,
  expectAnswers,
  generateTypeScript,
  validateDocuments,
} from "./support/generated-clients.ts";
import { ensurePythonTools } from "./support/python-tools.ts";

/** The examples are served once: for their own clients, for generated ones, and last for fuzzed requests. */
const LONG = process.env.APPDB_FAULTS === "long";
/** Clients are generated for these, which have every kind of route; the long form generates all. */
const GENERATED = ["desk", "papers", "renders", "shop", "tables"];

let served: ServedExamples;

beforeAll(async () => {
  served = await startExamples();
});

afterAll(async () => {
  await served?.[Symbol.asyncDispose]();
});

test("there are examples with a client", () => {
  expect(EXAMPLES_WITH_CLIENT).toContain("shop");
});

test.each(EXAMPLES_WITH_CLIENT)(
  "the example %s gives the answers that its client expects",
  async (name) => {
    const { said } = await served.serve(name);
    expect(said.split("\n").length).toBeGreaterThan(10);
  },
  180_000,
);

describe("the documents of the examples", () => {
  let bin: string;
  let folder: string;
  let services: Described[];
  let generated: Described[];

  beforeAll(async () => {
    bin = await ensurePythonTools("openapi");
    folder = join(served.project.folder, "clients");
    const examples = await served.serveAll();
    services = await describeServices(folder, examples);
    const names = examples.filter(({ example }) => LONG || GENERATED.includes(example));
    generated = services.filter(({ name }) => names.some(({ example }) => name.startsWith(`${example}_`)));
    expect(generated.length).toBeGreaterThanOrEqual(GENERATED.length);
  }, 400_000);

  test("are OpenAPI 3.1", async () => {
    await validateDocuments(folder, bin, services);
  });

  test("generate a strict TypeScript client that calls every route", async () => {
    expect(await generateTypeScript(folder, generated)).not.toMatch(/warn|error/i);
    await compileTypeScript(folder, generated);
    expectAnswers(generated, await callFromTypeScript(folder, generated));
  }, 400_000);

  test("generate a Python client without warnings that calls every route", async () => {
    expectAnswers(generated, await callFromPython(folder, bin, generated));
  }, 400_000);
});

test(
  "fuzzed requests get documented answers that reveal no internals",
  async () => {
    const fuzzed = await fuzzExamples(served, await ensurePythonTools("openapi"));
    expect(fuzzed.flatMap(({ problems }) => problems).join("\n\n")).toBe("");
    expect(fuzzed.length).toBeGreaterThan(1);
    expect(fuzzed.every(({ exchanges }) => exchanges.length > 3)).toBe(true);
  },
  LONG ? 7_200_000 : 560_000,
);
