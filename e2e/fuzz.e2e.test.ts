import { join } from "node:path";
import { expect, test } from "vitest";
import { serveExamples } from "./support/examples.ts";
import { ensureOpenApiTools } from "./support/openapi-tools.ts";
import { type Exchange, type Fuzzed, fuzz } from "./support/schemathesis.ts";

const LONG = process.env.APPDB_FAULTS === "long";
const SEED = Number(process.env.FUZZ_SEED ?? 1);
const EXAMPLES = LONG ? 400 : 8;
/** Every boundary of every schema, which takes long: rows and queries of all kinds, and handlers, stand for the rest. */
const COVERED = ["shop", "desk"];
const AT_ONCE = 2;

/** Refusals of what a document allows: what no schema can say, each with the words of its answer. */
const RIGHTLY_REFUSED = [
  /NUL character/,
  /beyond the range of float32/,
  /An? (?:limit|offset|tail) is not negative/,
  /A page has 1 to \d+ rows/,
];

/** It shows a time limit: each request is answered 504, and ends a process. */
const NEVER_IN_TIME = ["handler_lockers_number_desk_lockers_number_patch"];

/** What no answer may hold: statements, our tables, paths of the machine, traces. */
const INTERNAL =
  /Traceback \(|File "\/|\bat \S+ \(\S+:\d+:\d+\)|\/(?:tmp|proc|home|usr|var)\/|node_modules|\.[cm]?[jt]s:\d|\bselect\b.+\bfrom\b|\binsert into\b|appdb\.(?!invalid|functions)\w+|\bpg_\w+|relation "|SQLSTATE|syntax error at/i;

test(
  "requests made up from the document of each example are answered as it says, and tell nothing of the inside",
  async () => {
    const bin = await ensureOpenApiTools();
    await using served = await serveExamples();
    const waiting = served.examples.flatMap(({ example, services }) =>
      services.map(({ name, endpoint }) => ({ name: `${example} ${name}`, example, url: endpoint ?? "" })),
    );
    const total = waiting.length;
    const done: [name: string, fuzzed: Fuzzed][] = [];
    const work = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const folder = join(served.place.project, "reports", next.name);
        const fuzzed = await fuzz({
          ...next,
          bin,
          folder,
          seed: SEED,
          examples: EXAMPLES,
          phases: phasesFor(next.example),
          except: exceptFor(next.example),
          without: next.example === "desk" ? NEVER_IN_TIME : [],
        });
        done.push([next.name, fuzzed]);
        process.stdout.write(summary(next.name, fuzzed.exchanges));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    process.stdout.write(
      summary(
        "all examples",
        done.flatMap(([, { exchanges }]) => exchanges),
      ),
    );
    const problems = done.flatMap(([name, { findings, exchanges }]) => [
      ...(findings === "" ? [] : [`${name}: ${findings}`]),
      ...exchanges.flatMap(wrongWith).map((wrong) => `${name}: ${wrong}`),
    ]);
    expect(problems.join("\n\n")).toBe("");
    expect(done.length).toBe(total);
    expect(done.every(([, { exchanges }]) => exchanges.length > 3)).toBe(true);
  },
  LONG ? 7_200_000 : 560_000,
);

function phasesFor(example: string): readonly string[] {
  if (LONG) return ["examples", "coverage", "fuzzing", "stateful"];
  return COVERED.includes(example) ? ["coverage", "fuzzing"] : ["fuzzing"];
}

/** A schema cannot say everything that is refused (a cursor, a division by zero): `wrongWith` looks at these refusals. */
function exceptFor(example: string): readonly string[] {
  // quickstart has a route POST /docs, where our own page answers GET
  return ["positive_data_acceptance", ...(example === "quickstart" ? ["allow_header_conformance"] : [])];
}

function wrongWith({ request, is_allowed, status, body }: Exchange): string[] {
  const told = `${request.slice(0, 300)}: ${status} ${body.slice(0, 600)}`;
  // what was sent may come back in an answer: it tells nothing of ours
  const internal = INTERNAL.test(body) && !INTERNAL.test(request) ? [`tells of the inside: ${told}`] : [];
  const is_refused = is_allowed && /"code":"(?:invalid_request|invalid_json|unsupported_media_type)"/.test(body);
  const wrongly = is_refused && !RIGHTLY_REFUSED.some((reason) => reason.test(body));
  return [...internal, ...(wrongly ? [`refused though the document allows it: ${told}`] : [])];
}

/** `shop office: 577 requests, 200: 300, 422: 277` */
function summary(name: string, exchanges: readonly Exchange[]): string {
  const counts = new Map<string, number>();
  for (const { status } of exchanges) counts.set(`${status}`, (counts.get(`${status}`) ?? 0) + 1);
  const statuses = [...counts].sort().map(([status, count]) => `${status}: ${count}`);
  return `${name}: ${exchanges.length} requests, ${statuses.join(", ")}\n`;
}
