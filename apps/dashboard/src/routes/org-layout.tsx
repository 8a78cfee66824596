import type { Permission } from "@appdb/contract/permissions";
import { Link, Outlet } from "@tanstack/react-router";
import { may, useOrg } from "../features/organizations/use-org.ts";

const PAGES = [
  { to: "/orgs/$org", title: "Overview" },
  { to: "/orgs/$org/members", title: "Members" },
  { to: "/orgs/$org/keys", title: "API keys" },
  { to: "/orgs/$org/secrets", title: "Secrets" },
  { to: "/orgs/$org/operations", title: "Operations" },
  { to: "/orgs/$org/audit", title: "Audit log" },
  { to: "/orgs/$org/webhooks", title: "Webhooks", permission: "webhook.read" },
] as const satisfies readonly { to: string; title: string; permission?: Permission }[];

/** The pages of an organization, with their navigation. */
export function OrgLayout() {
  const org = useOrg();
  const pages = PAGES.filter((page) => !("permission" in page) || may(org, page.permission));
  return (
    <div className="mx-auto grid w-full max-w-6xl content-start gap-x-10 px-5 md:grid-cols-[11rem_minmax(0,1fr)]">
      <nav aria-label={org.name} className="max-md:-mx-3 max-md:pt-3 md:py-9">
        <ul className="flex flex-wrap gap-0.5 md:sticky md:top-9 md:grid">
          {pages.map((page) => (
            <li key={page.to}>
              <Link
                to={page.to}
                params={{ org: org.name }}
                activeOptions={{ exact: true, includeSearch: false }}
                className="block rounded-md px-3 py-1.5 text-sm font-medium whitespace-nowrap text-muted hover:bg-sunken hover:text-ink aria-[current=page]:bg-accent-soft aria-[current=page]:text-accent"
              >
                {page.title}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <main id="content" className="min-w-0 py-9 max-md:py-6">
        <Outlet />
      </main>
    </div>
  );
}
