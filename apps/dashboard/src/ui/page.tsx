import { useRouterState } from "@tanstack/react-router";
import { type ReactNode, useEffect, useLayoutEffect, useRef } from "react";
import { classNames } from "./class-names.ts";

interface PageProps {
  readonly title: string;
  /** The page's part, if several pages share the title: "tables". */
  readonly about?: string | undefined;
  /** A label next to the title. */
  readonly badge?: ReactNode;
  /** One sentence below the title. */
  readonly lead?: ReactNode;
  /** Actions next to the title. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** A page with its heading. */
export function Page({ title, about, badge, lead, actions, children }: PageProps) {
  return (
    <div className="grid grid-cols-1 gap-6">
      <div className="flex items-start justify-between gap-x-8 gap-y-4 max-sm:flex-wrap">
        <div className="grid max-w-2xl min-w-0 gap-1">
          <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
            <PageHeading title={title} about={about} />
            {badge}
          </div>
          {lead && <p className="text-pretty text-muted">{lead}</p>}
        </div>
        {actions && <div className="flex shrink-0 gap-2">{actions}</div>}
      </div>
      {children}
    </div>
  );
}

/** The heading, which gets the focus after a navigation, so that screen readers start there. */
export function PageHeading({ title, about }: { readonly title: string; readonly about?: string | undefined }) {
  const heading = useRef<HTMLHeadingElement>(null);
  const named = about === undefined ? title : `${title}: ${about}`;
  // not the current location, which belongs to the next page while the last one is still shown
  const pathname = useRouterState({ select: (state) => state.resolvedLocation?.pathname });
  useEffect(() => {
    document.title = `${named} · appdb`;
  }, [named]);
  // before painting, so that the next key press reaches the new page
  useLayoutEffect(() => {
    if (pathname !== undefined && isReplaced(pathname)) heading.current?.focus({ preventScroll: true });
  }, [pathname]);
  return (
    <h1 ref={heading} tabIndex={-1} className="text-xl font-semibold tracking-tight">
      {title}
      {about && <span className="sr-only">: {about}</span>}
    </h1>
  );
}

/** False for the page that the browser loaded, whose focus the browser sets. */
function isReplaced(pathname: string): boolean {
  const element = document.documentElement;
  const shown = element.dataset["page"];
  element.dataset["page"] = pathname;
  return shown !== undefined && shown !== pathname;
}

interface SectionProps {
  readonly title: string;
  /** The anchor of links to it. */
  readonly id?: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** A part of a page. */
export function Section({ title, id, actions, children }: SectionProps) {
  return (
    <section id={id} className="grid scroll-mt-4 grid-cols-1 grid-rows-[auto_1fr] gap-3">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <h2 className="text-base font-semibold">{title}</h2>
        {actions}
      </div>
      {children}
    </section>
  );
}

export function Card({ children }: { readonly children: ReactNode }) {
  return <div className="h-full rounded-lg border border-line bg-surface p-5">{children}</div>;
}

interface FactsProps {
  readonly facts: readonly (readonly [name: string, value: ReactNode])[];
  /** Whether names have the same width in all lists of a card. */
  readonly aligned?: boolean;
}

/** Named facts about one thing. */
export function Facts({ facts, aligned = false }: FactsProps) {
  return (
    <dl
      className={classNames(
        "grid gap-x-6 gap-y-2.5 text-sm",
        aligned ? "grid-cols-[5.5rem_minmax(0,1fr)]" : "sm:grid-cols-[max-content_1fr]",
      )}
    >
      {facts.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-muted">{name}</dt>
          <dd className={classNames("min-w-0 break-words", !aligned && "max-sm:mb-2")}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
