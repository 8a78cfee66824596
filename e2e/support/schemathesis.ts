import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

export interface FuzzInput {
  /** Program folder of the environment. */
  readonly bin: string;
  /** Address of a service. */
  readonly url: string;
  /** Folder for reports, also the working folder. */
  readonly folder: string;
  readonly seed: number;
  /** Number of requests that each phase generates per route. */
  readonly examples: number;
  readonly phases: readonly string[];
  /** Checks that do not apply here. */
  readonly except: readonly string[];
  /** Ids of operations to skip. */
  readonly without: readonly string[];
}

/** A generated request with its answer. */
export interface Exchange {
  readonly request: string;
  /** Whether the document allows the request. */
  readonly is_allowed: boolean;
  readonly status: number | null;
  readonly body: string;
}

export interface Fuzzed {
  readonly exchanges: readonly Exchange[];
  /** Findings as the program prints them; empty without findings. */
  readonly findings: string;
}

/** Unexpected methods to try: one standard method and an unknown one represent all. */
const CONFIG = '[phases.coverage]\nunexpected-methods = ["PUT", "QUERY"]\n';
const TIMEOUT_MS = 3_600_000;
/** A request without an answer after this time counts as hanging. */
const HANG_S = 30;

/** Generates valid and invalid requests from a service's OpenAPI document and checks the answers against it. */
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

/** Returns the output of a run that exited with another status than 0. */
function run(bin: string, args: readonly string[], cwd: string): Promise<string> {
  // its Unicode tables take longer than many a run, so they are stored next to the programs
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
