import { useRouterState } from "@tanstack/react-router";
import { type ReactNode, useEffect, useLayoutEffect, useRef } from "react";

interface PageProps {
  readonly title: string;
  /** One sentence below the title. */
  readonly lead?: ReactNode;
  /** What can be done here, beside the title. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** A page with its heading. */
export function Page({ title, lead, actions, children }: PageProps) {
  return (
    <div className="grid gap-6">
      <div className="flex items-start justify-between gap-x-8 gap-y-4 max-sm:flex-wrap">
        <div className="grid max-w-2xl min-w-0 gap-1">
          <PageHeading title={title} />
          {lead && <p className="text-pretty text-muted">{lead}</p>}
        </div>
        {actions && <div className="flex shrink-0 gap-2">{actions}</div>}
      </div>
      {children}
    </div>
  );
}

/** The heading that gets the focus when the page replaced another one: a reader of the screen begins there. */
export function PageHeading({ title }: { readonly title: string }) {
  const heading = useRef<HTMLHeadingElement>(null);
  // not the location itself: that is the next page's while the last one is still shown
  const pathname = useRouterState({ select: (state) => state.resolvedLocation?.pathname });
  useEffect(() => {
    document.title = `${title} · appdb`;
  }, [title]);
  // before it is painted: keys that are pressed at once already go to the new page
  useLayoutEffect(() => {
    if (pathname !== undefined && isReplaced(pathname)) heading.current?.focus();
  }, [pathname]);
  return (
    <h1 ref={heading} tabIndex={-1} className="text-xl font-semibold tracking-tight">
      {title}
    </h1>
  );
}

/** False for the page that the browser loaded: there the focus is the browser's to set. */
function isReplaced(pathname: string): boolean {
  const element = document.documentElement;
  const shown = element.dataset["page"];
  element.dataset["page"] = pathname;
  return shown !== undefined && shown !== pathname;
}

/** A part of a page. */
export function Section({ title, actions, children }: { title: string; actions?: ReactNode; children: ReactNode }) {
  return (
    <section className="grid gap-3">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <h2 className="text-base font-semibold">{title}</h2>
        {actions}
      </div>
      {children}
    </section>
  );
}

export function Card({ children }: { readonly children: ReactNode }) {
  return <div className="rounded-lg border border-line bg-surface p-5">{children}</div>;
}

/** Facts about one thing, each with its name. */
export function Facts({ facts }: { readonly facts: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="grid gap-x-6 gap-y-2.5 text-sm sm:grid-cols-[max-content_1fr]">
      {facts.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-muted">{name}</dt>
          <dd className="min-w-0 break-words max-sm:mb-2">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
