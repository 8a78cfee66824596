import type { EnvironmentDocument } from "@appdb/contract/routes/control-databases";

/** Secret that holds PEM certificates of a private authority for builds. */
export const CERTIFICATES_SECRET = "BUILD_CA_CERTIFICATES";
/** Names under which uv and git look for credentials and index addresses. */
const NAMES = [
  /^UV_INDEX_[A-Z0-9_]+_(USERNAME|PASSWORD)$/,
  /^UV_(DEFAULT_INDEX|INDEX|INDEX_URL|EXTRA_INDEX_URL|FIND_LINKS|INDEX_STRATEGY|HTTP_TIMEOUT|INSECURE_HOST)$/,
  /^GIT_CONFIG_(COUNT|KEY_\d+|VALUE_\d+)$/,
  /^(HTTP|HTTPS|ALL|NO)_PROXY$/i,
];
/** Shorter values also occur in unrelated words. */
const SHORTEST_HIDDEN = 4;
/** Minimum length of a hidden line of a multi-line secret. Shorter lines reveal little and occur everywhere. */
const SHORTEST_HIDDEN_LINE = 8;
/**
 * Lengths of pieces. A text is cut into pieces of the longest length that fits; two of them cover any text of up to 32
 * characters.
 */
const SIZES = [32, 24, 16, 12, 8, 7, 6, 5, 4] as const;
/** Size of the table of piece beginnings; most characters of a line begin no piece. */
const BEGINNINGS = 2 ** 16;
/** Maximum number of pieces to search for: 1.6 MB of secrets. */
const MAX_PIECES = 50_000;

/**
 * Selects the secrets for a build's environment: credentials that uv and git know by name, and those that the
 * environment's files reference as `${NAME}`. Packages run code as they are built, so they get no secret that
 * installing does not need.
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
 * Replaces each secret by `***`, because people who may not read secrets read build output. Hides whole values of at
 * least 4 characters and lines of at least 8, as they are; values also in URL encoding. It searches piece by piece and
 * hides single pieces too, so the work per character is bounded for any secrets. It hides at most 50,000 pieces, short
 * values first.
 */
export function hideSecrets(secrets: Readonly<Record<string, string>>): (line: string) => string {
  const values = Object.values(secrets);
  const lines = values.flatMap((value) => value.split(/\r?\n/)).filter(({ length }) => length >= SHORTEST_HIDDEN_LINE);
  const whole = values.flatMap((value) => [value, encodeURIComponent(value)]);
  // a printed line contains no multi-line value
  const texts = [...whole.filter((text) => text.length >= SHORTEST_HIDDEN && !text.includes("\n")), ...lines];
  const pieces = new Set<string>();
  for (const text of texts.sort((a, b) => a.length - b.length)) {
    if (pieces.size >= MAX_PIECES) break;
    for (const piece of cut(text)) pieces.add(piece);
  }
  const beginnings = new Uint8Array(BEGINNINGS);
  for (const piece of pieces) beginnings[beginningOf(piece, 0)] = 1;
  const found = new Set([...pieces].map(({ length }) => length));
  const sizes = SIZES.filter((size) => found.has(size));
  return (line) => {
    let shown = "";
    let remaining = 0;
    // range hidden so far; pieces of one secret overlap or are adjacent
    let [start, end] = [0, 0];
    for (let at = 0; at + SHORTEST_HIDDEN <= line.length; at += 1) {
      if (beginnings[beginningOf(line, at)] === 0) continue;
      const size = sizes.find((size) => at + size <= line.length && pieces.has(line.slice(at, at + size)));
      if (size === undefined) continue;
      if (at > end || end === 0) {
        if (end > 0) shown += `${line.slice(remaining, start)}***`;
        remaining = end;
        start = at;
      }
      end = Math.max(end, at + size);
    }
    return end === 0 ? line : `${shown}${line.slice(remaining, start)}***${line.slice(end)}`;
  };
}

/** Hash of the four characters at an offset of a text. */
function beginningOf(text: string, at: number): number {
  const [a, b, c, d] = [text.charCodeAt(at), text.charCodeAt(at + 1), text.charCodeAt(at + 2), text.charCodeAt(at + 3)];
  return (Math.imul(Math.imul(Math.imul(a, 31) + b, 31) + c, 31) + d) & (BEGINNINGS - 1);
}

/** Pieces of one length; the last one ends with the text. */
function cut(text: string): string[] {
  const size = SIZES.find((one) => one <= text.length) ?? text.length;
  const starts = Array.from({ length: Math.floor(text.length / size) }, (_, at) => at * size);
  return [...starts, text.length - size].map((start) => text.slice(start, start + size));
}
