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
/** A line of a secret of several lines: a shorter one says little, and is found everywhere. */
const SHORTEST_HIDDEN_LINE = 8;
/** Characters of a piece of a long secret. */
const PIECE = 32;
/** Pieces that are looked for: 1.6 MB of secrets. */
const MOST_PIECES = 50_000;

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

/**
 * Puts `***` in place of each secret: what a build prints is read by people who may not read secrets. It hides whole values of at least 4
 * characters and lines of at least 8, as they are; values also as an address has them. Long ones are hidden piece by piece, so that the work for a
 * character of a line is bounded, however many secrets there are. At most 50,000 pieces are hidden, short values first.
 */
export function hideSecrets(secrets: Readonly<Record<string, string>>): (line: string) => string {
  const values = Object.values(secrets);
  const lines = values.flatMap((value) => value.split(/\r?\n/)).filter(({ length }) => length >= SHORTEST_HIDDEN_LINE);
  const whole = values.flatMap((value) => [value, encodeURIComponent(value)]);
  // a line that is printed holds no value of several lines
  const texts = [...whole.filter((text) => text.length >= SHORTEST_HIDDEN && !text.includes("\n")), ...lines];
  const pieces = new Set<string>();
  for (const text of texts.sort((a, b) => a.length - b.length)) {
    if (pieces.size >= MOST_PIECES) break;
    for (const piece of cut(text)) pieces.add(piece);
  }
  const lengths = [...new Set([...pieces].map(({ length }) => length))].sort((a, b) => b - a);
  return (line) => {
    let shown = "";
    let kept = 0;
    for (let at = 0; at < line.length; ) {
      const length = lengths.find((one) => at + one <= line.length && pieces.has(line.slice(at, at + one)));
      if (length === undefined) {
        at += 1;
        continue;
      }
      // pieces of one secret follow each other
      if (at > kept || shown === "") shown += `${line.slice(kept, at)}***`;
      at += length;
      kept = at;
    }
    return shown + line.slice(kept);
  };
}

/** Pieces of one length, but for the last one, which is longer rather than short. */
function cut(text: string): string[] {
  const count = Math.max(1, Math.floor(text.length / PIECE));
  return Array.from({ length: count }, (_, at) =>
    text.slice(at * PIECE, at === count - 1 ? text.length : (at + 1) * PIECE),
  );
}
