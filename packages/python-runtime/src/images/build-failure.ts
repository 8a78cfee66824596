import { type AppError, appError } from "@appdb/contract/errors";
import type { PodExit } from "@appdb/pods/driver/pod-driver";
import type { PodTask } from "@appdb/pods/driver/task-runner";
import { explainUv } from "./uv-commands.ts";

/** The system's message when one file exceeds the build's disk limit. */
const TOO_LARGE = /File too large/;

export interface BuildFailureInput {
  readonly exit: PodExit;
  /** Output of the build, without secrets. */
  readonly output: string;
  /** The package whose build began last. */
  readonly building: string | undefined;
  /** `3.12.8` */
  readonly python: string;
  readonly limits: PodTask["limits"];
}

/** Beginnings of messages that programs print when a build reaches its process limit. */
const NO_THREAD = /can't start new thread/i;
const STARTING = /fork|clone|thread|spawn|BlockingIOError/i;
const UNAVAILABLE = /Resource temporarily unavailable/i;

const HINTS: readonly [pattern: RegExp, hint: string][] = [
  [
    /\b40[13]\b|Unauthorized|Forbidden|missing credentials|authentication failed|could not read Username/i,
    "Set the index's credentials as secrets of the database: cli secret set <db_uri> UV_INDEX_<NAME>_USERNAME=... UV_INDEX_<NAME>_PASSWORD=...",
  ],
  [
    /invalid peer certificate|UnknownIssuer|self.signed/i,
    "Set the authority's certificate as a secret: cli secret set <db_uri> BUILD_CA_CERTIFICATES=<PEM>",
  ],
  [/hash mismatch/i, "Lock the package again: uv lock --upgrade-package <package>"],
  [/no space left|disk quota/i, "Install fewer packages, or ask the operator for larger builds."],
  [
    /fatal error: .*\.h\b|command '?[\w+./-]*(gcc|cc|g\+\+|clang)'? failed|not find .*(header|compiler)/i,
    "Choose a version that has wheels for this platform, or add its build requirements to system_packages.",
  ],
  [/Failed to build|build backend|Failed to prepare/i, "Read the build's output: cli db logs <db_uri> --build"],
  [
    /requires-python|Python requirement|doesn't have a (source distribution|wheel)|no wheels? with a matching|not compatible/i,
    "Choose a Python that the package has wheels for by python_version in the database's entry.",
  ],
  [
    /dns error|client error \(Connect\)|timed? out|error sending request|connection (refused|reset)/i,
    "Try again: cli db build-image <db_uri>. Builds reach a private address only if the operator names it in SERVICE_BUILD_HOSTS.",
  ],
];

/**
 * Describes why a build failed: uv's message about the package, the Python version, the platform, and one next step.
 */
export function buildFailure({ building, exit, limits, python, output }: BuildFailureInput): AppError {
  const platform = `Python ${python} on ${process.platform} ${process.arch}`;
  const meta = { python, platform: `${process.platform}-${process.arch}` };
  const bound = exceededBound(exit, output, limits);
  if (bound !== undefined) {
    return appError("build_failed", {
      detail: `The image could not be built for ${platform}: the build ${bound.what}${building === undefined ? "" : `; the last package that was built is ${building}`}.`,
      hint: bound.hint,
      meta,
    });
  }
  const words = explainUv(output) || `the build ended with ${exit.signal ?? `code ${exit.code}`}`;
  return appError("build_failed", {
    detail: `The image could not be built for ${platform}: ${words}`,
    hint:
      HINTS.find(([pattern]) => pattern.test(words))?.[1] ??
      "Correct the lock or requirements file, and build again: cli db build-image <db_uri>",
    meta,
  });
}

function exceededBound(
  exit: PodExit,
  output: string,
  limits: BuildFailureInput["limits"],
): { what: string; hint: string } | undefined {
  const hint = "Choose a version that has a wheel for this platform, or ask the operator for larger builds.";
  if (exit.is_out_of_memory) return { what: `needed more than ${limits.memory_mb} MB of memory`, hint };
  if (exit.exceeded === "time") return { what: `took longer than ${printTime(limits.timeout_ms)}`, hint };
  if (exit.exceeded === "files") {
    return {
      what: `made more than ${limits.files} files`,
      hint: "Install fewer packages, or ask the operator for larger builds.",
    };
  }
  if (exit.exceeded === "disk" || TOO_LARGE.test(output)) {
    return {
      what: `wrote more than ${printSize(limits.disk_bytes)}`,
      hint: "Install fewer packages, or ask the operator for larger builds.",
    };
  }
  if (isOutOfProcesses(output)) return { what: `needed more than ${limits.tasks} processes and threads`, hint };
  return undefined;
}

/** Line by line and in two steps: a single pattern would backtrack over the rest of each line. */
function isOutOfProcesses(output: string): boolean {
  return output.split("\n").some((line) => {
    const at = line.search(STARTING);
    return at !== -1 && (NO_THREAD.test(line) || UNAVAILABLE.test(line.slice(at)));
  });
}

function printTime(timeMs: number): string {
  return timeMs < 60_000 ? `${timeMs / 1000} seconds` : `${timeMs / 60_000} minutes`;
}

function printSize(bytes: number): string {
  return bytes < 1024 ** 3 ? `${Math.round(bytes / 1024 ** 2)} MB` : `${Number((bytes / 1024 ** 3).toFixed(1))} GB`;
}
