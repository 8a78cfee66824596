/** Environment of the application's Python in all pods. */
const BASE: Readonly<Record<string, string>> = {
  PATH: "/usr/local/bin:/usr/bin:/bin",
  LANG: "C.UTF-8",
  HOME: "/tmp",
};

/** Names that control how programs are found, loaded and started: their values would run as code. */
const STARTS =
  /^(PATH|HOME|SHELL|ENV|IFS|CDPATH|TMPDIR|TMP|TEMP|VIRTUAL_ENV|BASH_.*|LD_.*|DYLD_.*|GLIBC_.*|GCONV_PATH|LOCPATH|PYTHON.*|NODE_.*|SERVICE_.*)$/;

export interface DatabaseEnvironment {
  readonly env: Readonly<Record<string, string>>;
  /** Omitted names, sorted, for the pod's log. */
  readonly omitted: readonly string[];
}

/** The environment of the application's code: variables of the entry, overridden by secrets. */
export function databaseEnvironment(
  vars: Readonly<Record<string, string>>,
  secrets: Readonly<Record<string, string>>,
  image: Readonly<Record<string, string>>,
): DatabaseEnvironment {
  const variables = Object.entries({ ...vars, ...secrets });
  return {
    env: { ...BASE, ...image, ...Object.fromEntries(variables.filter(([name]) => !startsPrograms(name))) },
    omitted: variables
      .map(([name]) => name)
      .filter(startsPrograms)
      .sort(),
  };
}

/** Log lines about omitted names. */
export function noticesOf(omitted: readonly string[]): string[] {
  return omitted.map((name) => `${name} is not passed to the application's code: it would change how programs start`);
}

function startsPrograms(name: string): boolean {
  return STARTS.test(name.toUpperCase());
}
