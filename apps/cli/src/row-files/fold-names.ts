import { type ExactJson, isObject, nextQuote, parseExact, printExact } from "@appdb/contract/clients/exact-json";
import { appError } from "@appdb/contract/errors";

const COLON = /\s*:/y;

/**
 * Lines of JSON objects with the names of columns in lower case, as tables have them.
 * @throws invalid_request for an object that names a column twice
 */
export async function* foldNames(
  lines: AsyncIterable<readonly string[]>,
  unit: "line" | "row",
  file: string,
): AsyncGenerator<readonly string[], void> {
  let number = 0;
  for await (const some of lines) {
    yield some.map((line, at) => (hasUpperName(line) ? folded(line, `${unit} ${number + at + 1}`, file) : line));
    number += some.length;
  }
}

/** Whether a member has a name with an upper case letter, also of a nested object. Most files have none, and cells can have megabytes. */
function hasUpperName(line: string): boolean {
  for (let start = nextQuote(line, 0); start >= 0; ) {
    const end = nextQuote(line, start + 1);
    if (end < 0) return false;
    COLON.lastIndex = end + 1;
    if (COLON.test(line) && /[A-Z]/.test(line.slice(start, end))) return true;
    start = nextQuote(line, end + 1);
  }
  return false;
}

function folded(line: string, place: string, file: string): string {
  const row = parsed(line);
  if (!isObject(row)) return line;
  const found = new Map<string, ExactJson>();
  for (const [name, value] of row) {
    const column = name.toLowerCase();
    if (found.has(column)) {
      throw appError("invalid_request", {
        detail: `${file}, ${place}: The column ${column} has several values. Nothing was inserted.`,
        hint: "Names of columns have no case. Give one value.",
      });
    }
    found.set(column, value);
  }
  return printExact(found);
}

/** Null for a line that is not JSON: the server names it. */
function parsed(line: string): ExactJson {
  try {
    return parseExact(line);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
