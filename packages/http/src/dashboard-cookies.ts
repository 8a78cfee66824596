/** Prefix of the dashboard's cookie names, after an optional `__Host-` or `__Secure-`. */
export const DASHBOARD_COOKIES = "appdb";

/**
 * Cookies ignore ports, so services on the same host receive the dashboard's cookies. A leading `=` makes a cookie
 * without a name.
 */
const IS_DASHBOARDS = new RegExp(`^[\\s=]*(__(host|secure)-)?${DASHBOARD_COOKIES}`, "i");

/** Removes the dashboard's cookies from a `Cookie` header. Undefined when no cookie is left. */
export function withoutDashboardCookies(header: string): string | undefined {
  // most requests have none
  if (!header.toLowerCase().includes(DASHBOARD_COOKIES)) return header;
  const remaining = header.split(";").filter((cookie) => !IS_DASHBOARDS.test(cookie));
  const cookies = remaining.join(";").trim();
  return cookies === "" ? undefined : cookies;
}

/** Whether a `Set-Cookie` header sets a cookie that the dashboard would accept as its own. */
export function setsDashboardCookie(header: string): boolean {
  return IS_DASHBOARDS.test(header);
}
