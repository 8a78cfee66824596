import { join } from "node:path";
import type { ServedExamples } from "./examples.ts";
import { type Exchange, type Fuzzed, fuzz } from "./schemathesis.ts";

const LONG = process.env.APPDB_FAULTS === "long";
const SEED = Number(process.env.FUZZ_SEED ?? 1);
const EXAMPLES = LONG ? 400 : 5;
/** One example with rows and a query, one with handlers, one with files; `npm run test:faults` fuzzes all. */
const FEW = ["tables", "desk", "papers"];
const WITH_MEDIA = ["gallery", "voicemail", "papers", "manuals", "clips"];
const PHASES = LONG ? ["examples", "coverage", "fuzzing", "stateful"] : ["coverage", "fuzzing"];
const AT_ONCE = 2;

/** Refusals that no schema can express, by the text of their answer. */
const RIGHTLY_REFUSED = [
  /NUL character/,
  /beyond the range of float32/,
  /An? (?:limit|offset|tail) must not be negative/,
  /Expected a page_size from 1 to \d+/,
  // contentEncoding is an annotation (JSON Schema 2020-12, Validation, 8.3)
  /Expected base64/,
  /is in year 0 in UTC/,
];

/** Demonstrates a timeout: each request is answered 504 and ends a process. */
const NEVER_IN_TIME = ["handler_lockers_number_desk_lockers_number_patch"];

/** Content that no answer may contain: statements, internal tables, paths, traces. */
const INTERNAL =
  /Traceback \(|File "\/|\bat \S+ \(\S+:\d+:\d+\)|\/(?:tmp|proc|home|usr|var)\/|node_modules|\.[cm]?[jt]s:\d|\bselect\b.+\bfrom\b|\binsert into\b|appdb\.(?!invalid|functions)\w+|\bpg_\w+|relation "|SQLSTATE|syntax error at/i;

export interface FuzzedService {
  readonly name: string;
  readonly exchanges: readonly Exchange[];
  /** Findings and invalid answers; empty on success. */
  readonly problems: readonly string[];
}

/**
 * Fuzzes each service of the examples, or of a few, from its document. Leaves rows behind where requests were allowed.
 */
export async function fuzzExamples(served: ServedExamples, bin: string): Promise<readonly FuzzedService[]> {
  const waiting = (await served.serveAll())
    .filter(({ example }) => LONG || FEW.includes(example))
    .flatMap(({ example, services }) =>
      services.map(({ name, endpoint }) => ({ name: `${example} ${name}`, example, url: endpoint ?? "" })),
    );
  const done: FuzzedService[] = [];
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const fuzzed = await fuzz({
        ...next,
        bin,
        folder: join(served.project.folder, "reports", next.name),
        seed: SEED,
        examples: EXAMPLES,
        phases: PHASES,
        except: exceptFor(next.example),
        without: next.example === "desk" ? NEVER_IN_TIME : [],
      });
      done.push({ name: next.name, exchanges: fuzzed.exchanges, problems: problemsOf(next.name, fuzzed) });
      process.stdout.write(summary(next.name, fuzzed.exchanges));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  process.stdout.write(
    summary(
      "all examples",
      done.flatMap(({ exchanges }) => exchanges),
    ),
  );
  return done;
}

function problemsOf(name: string, { findings, exchanges }: Fuzzed): string[] {
  const found = findings === "" ? [] : [findings];
  return [...found, ...exchanges.flatMap(wrongWith)].map((problem) => `${name}: ${problem}`);
}

/**
 * A schema cannot express everything that is refused (a cursor, a division by zero); `wrongWith` checks these refusals.
 */
function exceptFor(example: string): readonly string[] {
  // quickstart has a route POST /docs, where our own page answers GET
  if (example === "quickstart") return ["positive_data_acceptance", "allow_header_conformance"];
  // the address of a file leads to no host: 502. A number in a form is a text like any other.
  if (WITH_MEDIA.includes(example))
    return ["positive_data_acceptance", "not_a_server_error", "negative_data_rejection"];
  // a background route refuses in its job, whose record stays after it was cancelled
  if (example === "renders") return ["positive_data_acceptance", "negative_data_rejection", "use_after_free"];
  // an object without members is sent as an empty parameter, which is null
  if (example === "shop") return ["positive_data_acceptance", "negative_data_rejection"];
  return ["positive_data_acceptance"];
}

function wrongWith({ request, is_allowed: isAllowed, status, body }: Exchange): string[] {
  const told = `${request.slice(0, 300)}: ${status} ${body.slice(0, 600)}`;
  // sent content may be echoed in an answer and reveals nothing
  const internal = INTERNAL.test(body) && !INTERNAL.test(request) ? [`reveals internals: ${told}`] : [];
  const isRefused =
    isAllowed && Number(status) >= 400 && /"code":"(?:invalid_request|invalid_json|unsupported_media_type)"/.test(body);
  const failed = status === 500 ? [`failed: ${told}`] : [];
  const wrongly = isRefused && !RIGHTLY_REFUSED.some((reason) => reason.test(body));
  return [...internal, ...failed, ...(wrongly ? [`refused although the document allows it: ${told}`] : [])];
}

/** `shop office: 577 requests, 200: 300, 422: 277` */
function summary(name: string, exchanges: readonly Exchange[]): string {
  const counts = new Map<string, number>();
  for (const { status } of exchanges) counts.set(`${status}`, (counts.get(`${status}`) ?? 0) + 1);
  const statuses = [...counts].sort().map(([status, count]) => `${status}: ${count}`);
  return `${name}: ${exchanges.length} requests, ${statuses.join(", ")}\n`;
}
