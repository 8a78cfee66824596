import type { QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import type { Api } from "./api/api.tsx";
import { orgQuery, whoamiQuery } from "./api/queries.ts";
import { databaseQuery } from "./features/databases/use-database.ts";
import { hostedServiceQuery } from "./features/services/use-service.ts";
import type { RowFilter } from "./features/tables/use-tables.ts";
import { OrgLayout } from "./routes/org-layout.tsx";
import { PublicLayout } from "./routes/public-layout.tsx";
import { SignedInLayout } from "./routes/signed-in-layout.tsx";
import { InnerProblemPage, NotFoundPage, ProblemPage } from "./routes/trouble-pages.tsx";
import { Loading } from "./ui/table.tsx";

interface RouterContext {
  readonly api: Api;
  readonly queries: QueryClient;
}

type Search = Readonly<Record<string, string>>;

const root = createRootRouteWithContext<RouterContext>()({ component: Outlet, notFoundComponent: NotFoundPage });

/** Pages for people who are not signed in. */
const open = createRoute({ getParentRoute: () => root, id: "open", component: PublicLayout });

const setUp = createRoute({
  getParentRoute: () => open,
  path: "/setup",
  validateSearch: (search: Search): { token?: string } => pick(search, "token"),
  component: lazyRouteComponent(() => import("./routes/set-up-page.tsx"), "SetUpPage"),
});
const signUp = createRoute({
  getParentRoute: () => open,
  path: "/sign-up",
  validateSearch: (search: Search): { invitation?: string } => pick(search, "invitation"),
  component: lazyRouteComponent(() => import("./routes/sign-up-page.tsx"), "SignUpPage"),
});
const signIn = createRoute({
  getParentRoute: () => open,
  path: "/sign-in",
  validateSearch: (search: Search): { next?: string; error?: string } => pick(search, "next", "error"),
  component: lazyRouteComponent(() => import("./routes/sign-in-page.tsx"), "SignInPage"),
});
const forgot = createRoute({
  getParentRoute: () => open,
  path: "/forgot",
  component: lazyRouteComponent(() => import("./routes/forgot-page.tsx"), "ForgotPage"),
});
const reset = createRoute({
  getParentRoute: () => open,
  path: "/reset",
  validateSearch: (search: Search): { token?: string; error?: string } => pick(search, "token", "error"),
  component: lazyRouteComponent(() => import("./routes/reset-page.tsx"), "ResetPage"),
});

/** Pages for signed-in people. Others are redirected to the sign-in, and back afterwards. */
const signedIn = createRoute({
  getParentRoute: () => root,
  id: "signed-in",
  beforeLoad: async ({ context: { api, queries }, location }) => {
    const me = await queries.ensureQueryData(whoamiQuery(api));
    if (me === null) throw redirect({ to: "/sign-in", search: { next: location.href } });
    return { me };
  },
  component: SignedInLayout,
});
const organizations = createRoute({
  getParentRoute: () => signedIn,
  path: "/",
  component: lazyRouteComponent(() => import("./routes/organizations-page.tsx"), "OrganizationsPage"),
});
const device = createRoute({
  getParentRoute: () => signedIn,
  path: "/device",
  validateSearch: (search: Search): { user_code?: string } => pick(search, "user_code"),
  component: lazyRouteComponent(() => import("./routes/device-page.tsx"), "DevicePage"),
});
const account = createRoute({
  getParentRoute: () => signedIn,
  path: "/account",
  component: lazyRouteComponent(() => import("./routes/account-page.tsx"), "AccountPage"),
});

const org = createRoute({
  getParentRoute: () => signedIn,
  path: "/orgs/$org",
  loader: ({ context: { api, queries }, params }) => queries.ensureQueryData(orgQuery(api, params.org)),
  component: OrgLayout,
});
const overview = createRoute({
  getParentRoute: () => org,
  path: "/",
  component: lazyRouteComponent(() => import("./routes/overview-page.tsx"), "OverviewPage"),
});
const members = createRoute({
  getParentRoute: () => org,
  path: "/members",
  component: lazyRouteComponent(() => import("./routes/members-page.tsx"), "MembersPage"),
});
const keys = createRoute({
  getParentRoute: () => org,
  path: "/keys",
  component: lazyRouteComponent(() => import("./routes/keys-page.tsx"), "KeysPage"),
});
const secrets = createRoute({
  getParentRoute: () => org,
  path: "/secrets",
  validateSearch: (search: Search): { db?: string } => pick(search, "db"),
  component: lazyRouteComponent(() => import("./routes/secrets-page.tsx"), "SecretsPage"),
});
const audit = createRoute({
  getParentRoute: () => org,
  path: "/audit",
  component: lazyRouteComponent(() => import("./routes/audit-page.tsx"), "AuditPage"),
});
const webhooks = createRoute({
  getParentRoute: () => org,
  path: "/webhooks",
  component: lazyRouteComponent(() => import("./routes/webhooks-page.tsx"), "WebhooksPage"),
});

const database = createRoute({
  getParentRoute: () => org,
  path: "/databases/$db",
  loader: ({ context: { api, queries }, params }) => queries.ensureQueryData(databaseQuery(api, params.org, params.db)),
  component: Outlet,
  errorComponent: InnerProblemPage,
});
const databaseOverview = createRoute({
  getParentRoute: () => database,
  path: "/",
  component: lazyRouteComponent(() => import("./routes/database-page.tsx"), "DatabasePage"),
});
const databaseTables = createRoute({
  getParentRoute: () => database,
  path: "/tables",
  component: lazyRouteComponent(() => import("./routes/tables-page.tsx"), "TablesPage"),
});
const databaseTable = createRoute({
  getParentRoute: () => database,
  path: "/tables/$table",
  validateSearch: (search: Search): RowFilter => pick(search, "where", "order_by"),
  component: lazyRouteComponent(() => import("./routes/table-page.tsx"), "TablePage"),
});
const databaseImport = createRoute({
  getParentRoute: () => database,
  path: "/tables/$table/import",
  component: lazyRouteComponent(() => import("./routes/data/import-page.tsx"), "ImportPage"),
});
const databaseSql = createRoute({
  getParentRoute: () => database,
  path: "/query",
  component: lazyRouteComponent(() => import("./routes/data/query-page.tsx"), "QueryPage"),
});
const databaseErrors = createRoute({
  getParentRoute: () => database,
  path: "/errors",
  component: lazyRouteComponent(() => import("./routes/data/failed-cells-page.tsx"), "FailedCellsPage"),
});
const databaseLineage = createRoute({
  getParentRoute: () => database,
  path: "/lineage",
  component: lazyRouteComponent(() => import("./routes/data/lineage-page.tsx"), "LineagePage"),
});
const databaseLogs = createRoute({
  getParentRoute: () => database,
  path: "/logs",
  validateSearch: (search: Search): { source?: string; level?: string; since?: string; text?: string } =>
    pick(search, "source", "level", "since", "text"),
  component: lazyRouteComponent(() => import("./routes/logs-page.tsx"), "LogsPage"),
});
const databaseServices = createRoute({
  getParentRoute: () => database,
  path: "/services",
  component: lazyRouteComponent(() => import("./routes/services-page.tsx"), "ServicesPage"),
});
const databaseService = createRoute({
  getParentRoute: () => database,
  path: "/services/$service",
  validateSearch: (search: Search): { text?: string; minutes?: string; of?: string } =>
    pick(search, "text", "minutes", "of"),
  loader: ({ context: { api, queries }, params }) => queries.ensureQueryData(hostedServiceQuery(api, params)),
  component: lazyRouteComponent(() => import("./routes/service-page.tsx"), "ServicePage"),
  errorComponent: InnerProblemPage,
});
const databaseServiceCall = createRoute({
  getParentRoute: () => database,
  path: "/services/$service/call",
  validateSearch: (search: Search): { route?: string } => pick(search, "route"),
  loader: ({ context: { api, queries }, params }) => queries.ensureQueryData(hostedServiceQuery(api, params)),
  component: lazyRouteComponent(() => import("./routes/call-page.tsx"), "CallPage"),
  errorComponent: InnerProblemPage,
});
const operations = createRoute({
  getParentRoute: () => org,
  path: "/operations",
  component: lazyRouteComponent(() => import("./routes/operations-page.tsx"), "OperationsPage"),
});
const operation = createRoute({
  getParentRoute: () => org,
  path: "/operations/$operation",
  component: lazyRouteComponent(() => import("./routes/operation-page.tsx"), "OperationPage"),
});

const tree = root.addChildren([
  open.addChildren([setUp, signUp, signIn, forgot, reset]),
  signedIn.addChildren([
    organizations,
    device,
    account,
    org.addChildren([
      overview,
      members,
      keys,
      secrets,
      operations,
      operation,
      audit,
      webhooks,
      database.addChildren([
        databaseOverview,
        databaseTables,
        databaseTable,
        databaseImport,
        databaseSql,
        databaseErrors,
        databaseLineage,
        databaseServices,
        databaseService,
        databaseServiceCall,
        databaseLogs,
      ]),
    ]),
  ]),
]);

export function createDashboardRouter(context: RouterContext) {
  return createRouter({
    routeTree: tree,
    context,
    defaultPreload: "intent",
    defaultPendingComponent: Loading,
    defaultErrorComponent: ProblemPage,
    scrollRestoration: true,
    // keeps a code such as 12345678 as text
    parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
    stringifySearch: (search) => {
      const present = Object.entries(search).filter(([, value]) => value !== undefined);
      const text = new URLSearchParams(present.map(([name, value]) => [name, String(value)])).toString();
      return text === "" ? "" : `?${text}`;
    },
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof createDashboardRouter>;
  }
}

function pick<Name extends string>(search: Search, ...names: readonly Name[]): { [name in Name]?: string } {
  const picked: { [name in Name]?: string } = {};
  for (const name of names) {
    const value = search[name];
    if (value !== undefined && value !== "") picked[name] = value;
  }
  return picked;
}
