import type { EnvironmentDocument } from "@appdb/contract/routes/control-databases";

/** A secret that holds certificates of an own authority, PEM, for builds. */
export const CERTIFICATES_SECRET = "BUILD_CA_CERTIFICATES";
/** Names under which uv and git look for credentials and addresses of indexes. */
const NAMES = [
  /^UV_INDEX_[A-Z0-9_]+_(USERNAME|PASSWORD)$/,
  /^UV_(DEFAULT_INDEX|INDEX|INDEX_URL|EXTRA_INDEX_URL|FIND_LINKS|INDEX_STRATEGY|HTTP_TIMEOUT|INSECURE_HOST)$/,
  /^GIT_CONFIG_(COUNT|KEY_\d+|VALUE_\d+)$/,
  /^(HTTP|HTTPS|ALL|NO)_PROXY$/i,
];
/** Shorter ones are found in words that have nothing to do with them. */
const SHORTEST_HIDDEN = 4;

/**
 * The secrets that a build gets as its environment: those by whose names uv and git know credentials, and those that the environment's
 * files name as `${NAME}`. What is not needed to install packages is not in reach of a package that runs code as it is built.
 */
export function selectBuildSecrets(
  document: Pick<EnvironmentDocument, "files" | "uv_options">,
  secrets: Readonly<Record<string, string>>,
): Record<string, string> {
  const texts = document.files.filter(({ path }) => path !== "uv.lock" && !path.endsWith("/")).map(({ text }) => text);
  const named = new Set(
    [...texts, document.uv_options ?? ""].flatMap((text) =>
      [...text.matchAll(/\$\{([A-Za-z_]\w*)\}/g)].map((found) => found[1]),
    ),
  );
  const chosen = Object.entries(secrets).filter(
    ([name]) => named.has(name) || NAMES.some((pattern) => pattern.test(name)),
  );
  return Object.fromEntries(chosen);
}

/** Puts `***` in place of each secret: what a build prints is read by people who may not read secrets. */
export function hideSecrets(secrets: Readonly<Record<string, string>>): (line: string) => string {
  const values = Object.values(secrets)
    .flatMap((value) => [value, encodeURIComponent(value), ...value.split(/\r?\n/)])
    .filter((value) => value.length >= SHORTEST_HIDDEN);
  const sorted = [...new Set(values)].sort((a, b) => b.length - a.length);
  return (line) => sorted.reduce((text, value) => text.replaceAll(value, "***"), line);
}
