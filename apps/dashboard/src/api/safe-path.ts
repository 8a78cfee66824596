/** The path of this site to open after the sign-in. `/` for anything that could lead elsewhere. */
export function safePath(next: string | undefined): string {
  if (next === undefined || !next.startsWith("/")) return "/";
  // `//elsewhere` and `/\elsewhere` are addresses of other sites, and browsers drop tabs and line ends in addresses
  const url = new URL(next, "http://this.site.invalid");
  if (url.origin !== "http://this.site.invalid" || url.pathname.startsWith("//")) return "/";
  return url.pathname + url.search + url.hash;
}
