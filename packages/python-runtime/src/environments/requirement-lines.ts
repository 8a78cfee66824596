/** One requirement of a requirements.txt. */
export interface RequirementLine {
  /** 1-based number of its first line. */
  readonly line: number;
  /** Text without its comment; lines continued by a backslash are joined. */
  readonly text: string;
  readonly kind: "requirement" | "editable" | "file" | "find-links" | "option";
  /** Value of an option without its name: `-r more.txt` -> `more.txt`. */
  readonly value: string;
}

const KINDS: Readonly<Record<string, RequirementLine["kind"]>> = {
  "-r": "file",
  "--requirement": "file",
  "-c": "file",
  "--constraint": "file",
  "-e": "editable",
  "--editable": "editable",
  "-f": "find-links",
  "--find-links": "find-links",
};

/** Lines of a requirements file, without blank lines and comments. */
export function readRequirementLines(text: string): RequirementLine[] {
  const lines: RequirementLine[] = [];
  const written = text.replace(/^\ufeff/, "").split(/\r\n|\r|\n/);
  for (let index = 0; index < written.length; index++) {
    const line = index + 1;
    const pieces = [written[index] ?? ""];
    while ((pieces.at(-1) ?? "").endsWith("\\") && index + 1 < written.length) {
      pieces.push((pieces.pop() ?? "").slice(0, -1), written[++index] ?? "");
    }
    const requirement = withoutComment(pieces.join(""))
      .split(/\s+/)
      .filter((word) => word !== "")
      .join(" ");
    if (requirement !== "") lines.push({ line, text: requirement, ...classify(requirement) });
  }
  return lines;
}

/** A comment starts at the beginning of a line or after a space. */
function withoutComment(line: string): string {
  const at = line.search(/(?:^|\s)#/);
  return at === -1 ? line : line.slice(0, at);
}

/**
 * Path of a requirement that is a local file or folder, without extras and marker. Undefined for a name, an address or
 * a version-control URL.
 */
export function localPath(requirement: string): string | undefined {
  const bare = requirement.replace(/\s+(--hash|--config-setting)[=\s].*$/, "").replace(/\s*;.*$/, "");
  const named = /^[A-Za-z0-9][A-Za-z0-9._-]*\s*(?:\[[^\]]*\])?\s*@\s*(.+)$/.exec(bare)?.[1];
  const path = (named ?? bare).trim().replace(/\[[^\]/\\]*\]$/, "");
  if (/^file:/i.test(path)) return path;
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(path) || /^(git|hg|svn|bzr)\+/i.test(path)) return undefined;
  const isPath =
    named !== undefined || /^[.~/\\]|^[A-Za-z]:[\\/]|[/\\]|\.(whl|zip|tgz|tar\.(gz|bz2|xz|zst))$/i.test(path);
  return isPath ? path : undefined;
}

function classify(text: string): Pick<RequirementLine, "kind" | "value"> {
  if (!text.startsWith("-")) return { kind: "requirement", value: text };
  const [, name = "", value = ""] = /^(--[a-z-]+|-[a-z])(?:[=\s]\s*|(?<=^-[a-z])(?=\S))?(.*)$/i.exec(text) ?? [];
  return { kind: KINDS[name] ?? "option", value: value.replace(/^(["'])(.*)\1$/, "$2") };
}
