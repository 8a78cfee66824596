/** Names of the dashboard's cookies begin with this, behind `__Host-` or `__Secure-` where there is one of them. */
export const DASHBOARD_COOKIES = "appdb";

/** Browsers know no ports: cookies of the dashboard come to the services of the same host. A leading `=` makes a cookie without a name. */
const IS_DASHBOARDS = new RegExp(`^[\\s=]*(__(host|secure)-)?${DASHBOARD_COOKIES}`, "i");

/** Takes the dashboard's cookies out of a `Cookie` header; undefined when nothing else is left of it. */
export function withoutDashboardCookies(header: string): string | undefined {
  // of most requests it has none
  if (!header.toLowerCase().includes(DASHBOARD_COOKIES)) return header;
  const kept = header.split(";").filter((cookie) => !IS_DASHBOARDS.test(cookie));
  const left = kept.join(";").trim();
  return left === "" ? undefined : left;
}

/** Whether a `Set-Cookie` header sets a cookie that the dashboard would read as its own. */
export function setsDashboardCookie(header: string): boolean {
  return IS_DASHBOARDS.test(header);
}
