import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "@appdb/testkit/test-project";

/** A line of a page that a user should type. */
export interface TypedLine {
  /** `docs/secrets.md:6` */
  readonly place: string;
  /** Without its comment; lines continued by a backslash are joined. */
  readonly text: string;
  /** Its comment after `#`. */
  readonly says: string;
}

/** Names of the pages in `docs/`: `docs/secrets.md`. */
export function listPages(): string[] {
  return readdirSync(join(ROOT, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`);
}

const PROGRAMS = "cli|apt-get|cd|cp|curl|git|journalctl|mkdir|node|npm|openssl|pass|podman|printf|systemctl|tar|umask";
/** Variables may precede the program. */
const IS_TYPED = new RegExp(`^(?:\\w+=(?:"[^"]*"|<[^>]*>|\\S+) )*(?:${PROGRAMS}) `);

/** Lines of a page to type: those of its shell blocks, and indented lines that start with a program. */
export function readTypedLines(page: string): TypedLine[] {
  const found: TypedLine[] = [];
  let fence: string | undefined;
  let begun = "";
  for (const [at, line] of readFileSync(join(ROOT, page), "utf8").split("\n").entries()) {
    if (line.startsWith("```")) {
      fence = fence === undefined ? line.slice(3) : undefined;
      continue;
    }
    const isShell = fence === undefined ? line.startsWith("    ") : fence === "sh";
    const whole = begun + line.trim();
    if (!isShell || whole === "" || (fence === undefined && !IS_TYPED.test(whole))) continue;
    begun = whole.endsWith("\\") ? whole.slice(0, -1) : "";
    if (begun !== "") continue;
    const [text = "", says = ""] = whole.split(/\s+# /);
    found.push({ place: `${page}:${at + 1}`, text, says });
  }
  return found;
}

/** The indented block of a page with this beginning: an answer that it shows. */
export function readShownBlock(page: string, beginning: string): string {
  const blocks = readFileSync(join(ROOT, page), "utf8").match(/(?:^ {4}.*\n)+/gm) ?? [];
  const block = blocks
    .map((text) => text.replaceAll(/^ {4}/gm, "").trimEnd())
    .find((text) => text.startsWith(beginning));
  if (block === undefined) throw new Error(`${page} shows nothing that begins with ${beginning}`);
  return block;
}
