import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

export interface FuzzInput {
  /** The environment's folder of programs. */
  readonly bin: string;
  /** The address of a service. */
  readonly url: string;
  /** Where reports go; the program is run there. */
  readonly folder: string;
  readonly seed: number;
  /** Requests that each phase makes up for a route. */
  readonly examples: number;
  readonly phases: readonly string[];
  /** Checks of the program that do not hold here. */
  readonly except: readonly string[];
  /** Ids of operations that are left out. */
  readonly without: readonly string[];
}

/** A request that was made up, and what it was answered. */
export interface Exchange {
  readonly request: string;
  /** Whether the document allows the request. */
  readonly is_allowed: boolean;
  readonly status: number | null;
  readonly body: string;
}

export interface Fuzzed {
  readonly exchanges: readonly Exchange[];
  /** What the program found, as it prints it; empty when it found nothing. */
  readonly findings: string;
}

/** Which methods are tried where no route is: one of HTTP's eight and a new one are as good as all. */
const CONFIG = '[phases.coverage]\nunexpected-methods = ["PUT", "QUERY"]\n';
const TIMEOUT_MS = 3_600_000;
/** A request that has no answer after this time hangs. */
const HANG_S = 30;

/** Makes up requests from a service's own OpenAPI document, valid and invalid, and checks the answers against it. */
export async function fuzz(input: FuzzInput): Promise<Fuzzed> {
  mkdirSync(input.folder, { recursive: true });
  writeFileSync(join(input.folder, "schemathesis.toml"), CONFIG);
  const report = join(input.folder, "report.ndjson");
  const args = [
    "run",
    `${input.url}/openapi.json`,
    "--no-color",
    "--generation-database",
    "none",
    "--continue-on-failure",
    "--seed",
    `${input.seed}`,
    "--max-examples",
    `${input.examples}`,
    "--phases",
    input.phases.join(","),
    "--checks",
    "all",
    "--exclude-checks",
    input.except.join(","),
    "--request-timeout",
    `${HANG_S}`,
    "--report",
    "ndjson",
    "--report-ndjson-path",
    report,
    "--output-sanitize",
    "false",
    ...input.without.flatMap((id) => ["--exclude-operation-id", id]),
  ];
  const findings = await run(input.bin, args, input.folder);
  return { exchanges: readExchanges(report), findings };
}

/** Answers what it printed when it ended with another status than 0. */
function run(bin: string, args: readonly string[], cwd: string): Promise<string> {
  // its tables of Unicode, which take longer than many a run: made once, beside the programs
  const env = { ...process.env, HYPOTHESIS_STORAGE_DIRECTORY: join(dirname(bin), "hypothesis") };
  const options = { cwd, env, timeout: TIMEOUT_MS, maxBuffer: 256_000_000 };
  const program = join(bin, "schemathesis");
  return new Promise((resolve) => {
    execFile(program, args, options, (error, stdout, stderr) => resolve(error === null ? "" : `${stdout}${stderr}`));
  });
}

interface Scenario {
  readonly recorder?: {
    readonly cases?: Record<string, { readonly value: { readonly meta?: { generation: { mode: string } } | null } }>;
    readonly interactions?: Record<string, Interaction>;
  };
}

interface Interaction {
  readonly request: { readonly method: string; readonly uri: string; readonly body?: { readonly $base64: string } };
  readonly response: { readonly status_code: number; readonly content?: { readonly $base64: string } | null } | null;
}

function readExchanges(report: string): Exchange[] {
  const exchanges: Exchange[] = [];
  for (const line of readFileSync(report, "utf8").split("\n").filter(Boolean)) {
    const { ScenarioFinished } = JSON.parse(line) as { ScenarioFinished?: Scenario };
    const { cases = {}, interactions = {} } = ScenarioFinished?.recorder ?? {};
    for (const [id, { request, response }] of Object.entries(interactions)) {
      exchanges.push({
        request: `${request.method} ${request.uri} ${decode(request.body)}`,
        is_allowed: cases[id]?.value.meta?.generation.mode === "positive",
        status: response?.status_code ?? null,
        body: decode(response?.content ?? undefined),
      });
    }
  }
  return exchanges;
}

function decode(content: { readonly $base64: string } | undefined): string {
  return content === undefined ? "" : Buffer.from(content.$base64, "base64").toString();
}
