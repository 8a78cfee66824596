/** The one version of everything in this tree; a test compares it with package.json and the Python package. */
export const VERSION = "0.9.0";

declare const BUILD_ID: string | undefined;

/** The sources that a built program comes from: builds of one version differ by it. Undefined for unbuilt sources. */
export const BUILD: string | undefined = typeof BUILD_ID === "string" ? BUILD_ID : undefined;

/** Oldest supported command; older ones get `client_too_old`. */
export const OLDEST_CLIENT = "0.8.0";

/**
 * The header of the command's version in every call, and those of the server's version in every response and of its
 * build in responses to callers with valid credentials.
 */
export const CLIENT_VERSION_HEADER = "x-client-version";
export const SERVER_VERSION_HEADER = "x-server-version";
export const SERVER_BUILD_HEADER = "x-server-build";

/** Compares `major.minor.patch`: negative for an older one, 0 for equal ones. Ignores a suffix after a hyphen. */
export function compareVersions(left: string, right: string): number {
  const parts = (version: string) => (version.split("-")[0] ?? "").split(".").map((part) => Number(part) || 0);
  const [a, b] = [parts(left), parts(right)];
  for (let index = 0; index < 3; index++) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference !== 0) return Math.sign(difference);
  }
  return 0;
}
