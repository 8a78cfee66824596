import { Link, Outlet, useParams, useRouteContext } from "@tanstack/react-router";
import { ConfirmIdentity } from "../features/accounts/confirm-identity.tsx";
import { ThemeButton } from "../ui/theme-button.tsx";
import { Wordmark } from "../ui/wordmark.tsx";

/** The bar above every page, and the page. */
export function SignedInLayout() {
  const { me } = useRouteContext({ from: "/signed-in" });
  const { org, db } = useParams({ strict: false });
  return (
    <div className="grid min-h-dvh grid-rows-[auto_1fr]">
      <a
        href="#content"
        className="sr-only rounded-md bg-accent px-4 py-2 text-on-accent focus:not-sr-only focus:absolute focus:top-2 focus:left-2 focus:z-10"
      >
        Skip to the content
      </a>
      <header className="border-b border-line bg-surface">
        <div className="mx-auto flex h-14 max-w-6xl items-center gap-4 px-5">
          <nav aria-label="Organizations" className="flex min-w-0 items-center gap-2.5 text-sm">
            <Link to="/" className="inline-flex rounded">
              <Wordmark />
              <span className="sr-only">: all organizations</span>
            </Link>
            {org !== undefined && (
              <>
                <span aria-hidden="true" className="text-field">
                  /
                </span>
                <Link to="/orgs/$org" params={{ org }} className="truncate rounded font-medium hover:underline">
                  {org}
                </Link>
              </>
            )}
            {org !== undefined && db !== undefined && (
              <>
                <span aria-hidden="true" className="text-field">
                  /
                </span>
                <Link
                  to="/orgs/$org/databases/$db"
                  params={{ org, db }}
                  className="truncate rounded font-medium hover:underline"
                >
                  {db}
                </Link>
              </>
            )}
          </nav>
          <div className="ml-auto flex items-center gap-1">
            <ThemeButton />
            <Link
              to="/account"
              className="inline-flex h-8 items-center rounded-md px-2.5 text-sm font-medium text-muted hover:bg-sunken hover:text-ink"
            >
              <span className="max-w-64 truncate max-sm:hidden">{me.email ?? "Account"}</span>
              <span className="sm:hidden">Account</span>
            </Link>
          </div>
        </div>
      </header>
      <Outlet />
      <ConfirmIdentity />
    </div>
  );
}

/** The column of a page without its own navigation. */
export function MainColumn({ children }: { readonly children: React.ReactNode }) {
  return (
    <main id="content" className="mx-auto w-full max-w-4xl px-5 py-9">
      {children}
    </main>
  );
}
