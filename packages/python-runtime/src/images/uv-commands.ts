import { splitOptions } from "../environments/uv-options.ts";

const MAX_WORDS = 1_200;

export interface InstallInput {
  readonly uv: string;
  /** Folder of the project's files. */
  readonly directory: string;
  /** Options of the project's own, as a person types them. */
  readonly uv_options: string | undefined;
}

/** Installs what a lock says, without the project itself; which environment is told by UV_PROJECT_ENVIRONMENT. */
export function syncCommand({ directory, uv, uv_options: uvOptions }: InstallInput, more: readonly string[]): string[] {
  const how = ["--frozen", "--no-dev", "--no-install-project", "--no-progress"];
  return [uv, "sync", ...how, ...more, "--directory", directory, ...splitOptions(uvOptions ?? "")];
}

/** Installs what a requirements file says into the environment of an interpreter. */
export function pipCommand(
  { directory, uv, uv_options: uvOptions }: InstallInput,
  python: string,
  file: string,
): string[] {
  const where = ["--python", python, "-r", file, "--directory", directory];
  return [uv, "pip", "install", "--no-progress", ...where, ...splitOptions(uvOptions ?? "")];
}

/** uv's explanation without its progress: what it says from its first complaint on. */
export function explainUv(said: string): string {
  const lines = said
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
