import type { ReactNode } from "react";
import { PageHeading } from "../../ui/page.tsx";

interface AuthPageProps {
  readonly title: string;
  readonly lead?: ReactNode;
  /** Alternatives below the card. */
  readonly footer?: ReactNode;
  readonly children: ReactNode;
}

/** A page that identifies people: a heading, a card, and alternatives below it. */
export function AuthPage({ title, lead, footer, children }: AuthPageProps) {
  return (
    <>
      <div className="grid gap-1.5">
        <PageHeading title={title} />
        {lead && <p className="text-muted">{lead}</p>}
      </div>
      <div className="grid gap-5 rounded-xl border border-line bg-surface p-6">{children}</div>
      {footer && <div className="grid gap-1 text-sm text-muted">{footer}</div>}
    </>
  );
}
