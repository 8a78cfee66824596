import { splitOptions } from "../environments/uv-options.ts";

const MAX_WORDS = 1_200;

export interface InstallInput {
  readonly uv: string;
  /** Folder of the project's files. */
  readonly directory: string;
  /** Options of the project, as the user wrote them. */
  readonly uv_options: string | undefined;
}

/** Installs the packages of a lock without the project. UV_PROJECT_ENVIRONMENT selects the environment. */
export function syncCommand({ directory, uv, uv_options: uvOptions }: InstallInput, more: readonly string[]): string[] {
  const how = ["--frozen", "--no-dev", "--no-install-project", "--no-progress"];
  return [uv, "sync", ...how, ...more, "--directory", directory, ...splitOptions(uvOptions ?? "")];
}

/** Installs a requirements file into an interpreter's environment. */
export function pipCommand(
  { directory, uv, uv_options: uvOptions }: InstallInput,
  python: string,
  file: string,
): string[] {
  const where = ["--python", python, "-r", file, "--directory", directory];
  return [uv, "pip", "install", "--no-progress", ...where, ...splitOptions(uvOptions ?? "")];
}

/** uv's explanation without progress output: everything from its first error. */
export function explainUv(output: string): string {
  const lines = output
    .split("\n")
    .map((line) => line.replace(/^\s*[×╰─▶│├\s]+/, "").trim())
    .filter((line) => line !== "" && !PROGRESS.test(line));
  return lines
    .join(" ")
    .replace(/^error: /, "")
    .replace(/ cause: /g, ": ")
    .slice(0, MAX_WORDS);
}

const PROGRESS =
  /^(Using|Resolved|Creating|Activate|Prepared|Downloaded|Downloading|Building|Built|Installed|Updating|Updated|Audited)\b|^[+~-] \S+==|^ {2,}/;
