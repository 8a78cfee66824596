const BROWSERS = [
  ["Edge", /\bEdg\/(\d+)/],
  ["Opera", /\bOPR\/(\d+)/],
  ["Firefox", /\bFirefox\/(\d+)/],
  ["Chrome", /\b(?:Headless)?Chrome\/(\d+)/],
  ["Safari", /\bVersion\/(\d+).*\bSafari\//],
] as const;
const SYSTEMS = [
  ["Android", /Android/],
  ["iOS", /iPhone|iPad/],
  ["Windows", /Windows/],
  ["macOS", /Mac OS X|Macintosh/],
  ["Linux", /Linux|X11/],
] as const;

/** A `user-agent` header for people: `Firefox 140 on Linux`, or the header itself if it is not a browser's. */
export function describeProgram(userAgent: string | null): string {
  if (userAgent === null || userAgent === "") return "unknown program";
  for (const [browser, pattern] of BROWSERS) {
    const version = pattern.exec(userAgent)?.[1];
    if (version === undefined) continue;
    const system = SYSTEMS.find(([, known]) => known.test(userAgent))?.[0];
    return system === undefined ? `${browser} ${version}` : `${browser} ${version} on ${system}`;
  }
  return userAgent;
}
