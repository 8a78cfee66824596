import { setsDashboardCookie } from "@appdb/http/dashboard-cookies";

/**
 * Cookies as a service may set them: for its own host, or what is below. One for a domain above would be sent to the services of other
 * organizations as well: its `Domain` is taken off, and it is a cookie of the host alone. One that the dashboard would read as its own is
 * left out. `host` is what the client asked for.
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
 * What a service may have a browser forget: what is of its own origin. Cookies are kept by a browser for the whole domain and for all ports of
 * a host, so that a service would sign people out of the dashboard. Undefined when nothing is left.
 */
export function ownSiteData(value: string): string | undefined {
  const kept = value.split(",").filter((part) => !/^\s*"?(cookies|\*)"?\s*$/i.test(part));
  return kept.length === 0 ? undefined : kept.join(",").trim();
}

function isAbove(attribute: string, own: string): boolean {
  const [name = "", value = ""] = attribute.split("=", 2);
  if (name.trim().toLowerCase() !== "domain") return false;
  const domain = value.trim().toLowerCase().replace(/^\./, "");
  return domain !== own && !domain.endsWith(`.${own}`);
}
