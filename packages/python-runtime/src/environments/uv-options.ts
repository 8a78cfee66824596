/** Splits a line of options into words. Quoted text is one word. */
export function splitOptions(text: string): string[] {
  const words = text.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? [];
  return words.map((word) => word.replace(/"([^"]*)"|'([^']*)'/g, "$1$2"));
}

/** An option with its value; `--extra=web` and `--extra web` are equal. Other words are values without a name. */
export interface UvOption {
  readonly name: string;
  readonly value: string | undefined;
}

/** Options that the build sets itself. Another value would change what is built, or where. */
const OWN: ReadonlySet<string> = new Set([
  "--python",
  "-p",
  "--target",
  "--prefix",
  "--system",
  "--user",
  "--active",
  "--script",
  "--no-managed-python",
  "--cache-dir",
  "--no-cache",
  "-n",
  "--project",
  "--directory",
  "--config-file",
  "--no-config",
  "--link-mode",
  "--frozen",
  "--locked",
  "--dry-run",
  "--inexact",
  "--output-format",
  "--managed-python",
  "--python-preference",
  "--editable",
  "-e",
  "--python-platform",
  "--help",
  "-h",
  "--version",
  "-V",
  "--break-system-packages",
  "--only-install-project",
  "--install-project",
  "--check",
  "--isolated",
  "--no-python-downloads",
  "--compile-bytecode",
]);
const FILES = new Set([
  "--requirement",
  "--requirements",
  "-r",
  "--constraint",
  "--constraints",
  "-c",
  "--override",
  "--overrides",
  "--build-constraint",
  "--build-constraints",
  "-b",
  "--exclude",
  "--excludes",
]);
const FOLDERS = new Set(["--find-links", "-f"]);
/** Options that select from the lock. With only these, the lock still determines every source. */
const CHOOSING = new Set([
  "--extra",
  "--all-extras",
  "--no-extra",
  "--group",
  "--no-group",
  "--only-group",
  "--all-groups",
  "--no-dev",
  "--dev",
  "--only-dev",
  "--no-default-groups",
  "--no-install-package",
  "--all-packages",
  "--package",
  "--no-install-local",
  "--no-install-workspace",
  "--quiet",
  "-q",
  "--verbose",
  "-v",
]);
const VALUED = new Set([
  ...FILES,
  ...FOLDERS,
  "--extra",
  "--no-extra",
  "--group",
  "--no-group",
  "--only-group",
  "--no-install-package",
  "--package",
  "--index",
  "--default-index",
  "--index-url",
  "-i",
  "--extra-index-url",
  "--index-strategy",
  "--keyring-provider",
  "--resolution",
  "--prerelease",
  "--exclude-newer",
  "--no-binary-package",
  "--no-build-package",
  "--no-binary",
  "--only-binary",
  "--config-setting",
  "-C",
  "--config-settings",
  "--allow-insecure-host",
  "--upgrade-package",
  "-P",
]);

/** Options of a line, each with its value. */
export function readOptions(text: string): UvOption[] {
  const options: UvOption[] = [];
  const words = splitOptions(text);
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? "";
    const [, name = word, value] = /^(--[^=]+)=(.*)$/s.exec(word) ?? [];
    const hasValue = value === undefined && VALUED.has(name);
    options.push({ name, value: hasValue ? words[++index] : value });
  }
  return options;
}

/** First option that the build sets itself. Undefined when there is none. */
export function findOwnOption(text: string): string | undefined {
  return readOptions(text).find(({ name }) => OWN.has(name) || /^-[pe]./.test(name))?.name;
}

/** Files and folders that the options name, as written. */
export function findOptionPaths(text: string): { path: string; kind: "file" | "folder" }[] {
  return readOptions(text).flatMap(({ name, value: path }): { path: string; kind: "file" | "folder" }[] => {
    if (path === undefined) return [];
    if (FOLDERS.has(name)) return [{ path, kind: "folder" }];
    return FILES.has(name) ? [{ path, kind: "file" }] : [];
  });
}

/** Whether the options only select from the lock and add no other source. */
export function onlyNarrowsChoice(text: string): boolean {
  return readOptions(text).every(({ name }) => CHOOSING.has(name));
}
