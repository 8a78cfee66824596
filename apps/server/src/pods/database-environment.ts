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
  readonly left_out: readonly string[];
}

/** The environment of the application's code: variables of the entry, overridden by secrets. */
export function databaseEnvironment(
  vars: Readonly<Record<string, string>>,
  secrets: Readonly<Record<string, string>>,
  image: Readonly<Record<string, string>>,
): DatabaseEnvironment {
  const wanted = Object.entries({ ...vars, ...secrets });
  return {
    env: { ...BASE, ...image, ...Object.fromEntries(wanted.filter(([name]) => !startsPrograms(name))) },
    left_out: wanted
      .map(([name]) => name)
      .filter(startsPrograms)
      .sort(),
  };
}

/** Log lines about omitted names. */
export function noticesOf(leftOut: readonly string[]): string[] {
  return leftOut.map((name) => `${name} is not passed to the application's code: it would change how programs start`);
}

function startsPrograms(name: string): boolean {
  return STARTS.test(name.toUpperCase());
}
