/** The words of a line of options as a person types them; what stands in quotes is one word. */
export function splitOptions(text: string): string[] {
  const words = text.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? [];
  return words.map((word) => word.replace(/"([^"]*)"|'([^']*)'/g, "$1$2"));
}

/** An option with its value, `--extra=web` and `--extra web` alike; what is no option is a value without a name. */
export interface UvOption {
  readonly name: string;
  readonly value: string | undefined;
}

/** Options that a build sets itself: with another value it would build something else, or elsewhere. */
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
/** Options that choose among what the lock has; with these alone a lock still says where everything comes from. */
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

/** The options of a line, each with its value. */
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

/** The first option that a build sets itself; undefined when there is none. */
export function findOwnOption(text: string): string | undefined {
  return readOptions(text).find(({ name }) => OWN.has(name) || /^-[pe]./.test(name))?.name;
}

/** Files and folders that the options name, as they are written. */
export function findOptionPaths(text: string): { path: string; kind: "file" | "folder" }[] {
  return readOptions(text).flatMap(({ name, value: path }): { path: string; kind: "file" | "folder" }[] => {
    if (path === undefined) return [];
    if (FOLDERS.has(name)) return [{ path, kind: "folder" }];
    return FILES.has(name) ? [{ path, kind: "file" }] : [];
  });
}

/** Whether the options only choose among what a lock has, so that nothing comes from elsewhere by them. */
export function areChoosing(text: string): boolean {
  return readOptions(text).every(({ name }) => CHOOSING.has(name));
}
