import { setsDashboardCookie } from "@appdb/http/dashboard-cookies";

/**
 * Restricts a service's cookies to its own host and subdomains. A cookie for a parent domain would reach other
 * organizations' services, so its `Domain` is removed. A cookie that the dashboard would read is dropped. `host` is the
 * requested host.
 */
export function ownCookies(cookies: readonly string[], host: string): string[] {
  const own = host.toLowerCase().replace(/:\d*$/, "");
  return cookies
    .filter((cookie) => !setsDashboardCookie(cookie))
    .map((cookie) =>
      /;\s*domain/i.test(cookie)
        ? cookie
            .split(";")
            .filter((part, at) => at === 0 || !isAbove(part, own))
            .join(";")
        : cookie,
    );
}

/**
 * Restricts Clear-Site-Data to the service's own origin. Browsers store cookies per domain and for all ports, so
 * clearing them would sign people out of the dashboard. Undefined if nothing is left.
 */
export function ownSiteData(value: string): string | undefined {
  const remaining = value.split(",").filter((part) => !/^\s*"?(cookies|\*)"?\s*$/i.test(part));
  return remaining.length === 0 ? undefined : remaining.join(",").trim();
}

function isAbove(attribute: string, own: string): boolean {
  const [name = "", value = ""] = attribute.split("=", 2);
  if (name.trim().toLowerCase() !== "domain") return false;
  const domain = value.trim().toLowerCase().replace(/^\./, "");
  return domain !== own && !domain.endsWith(`.${own}`);
}
