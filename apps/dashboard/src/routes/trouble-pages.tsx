import type { ErrorComponentProps } from "@tanstack/react-router";
import { ProblemAlert } from "../ui/alert.tsx";
import { PageHeading } from "../ui/page.tsx";
import { TextLink } from "../ui/text-link.tsx";

export function NotFoundPage() {
  return (
    <main className="mx-auto grid max-w-md content-start gap-3 px-5 py-24">
      <PageHeading title="Page not found" />
      <p className="text-muted">The address may be mistyped, or the page no longer exists.</p>
      <p>
        <TextLink to="/">Go to your organizations</TextLink>
      </p>
    </main>
  );
}

/** Shown in place of a page that failed. */
export function ProblemPage({ error }: ErrorComponentProps) {
  return (
    <main id="content" className="mx-auto grid w-full max-w-2xl content-start gap-4 px-5 py-16">
      <Trouble error={error} />
    </main>
  );
}

/** The same inside an organization's layout. */
export function InnerProblemPage({ error }: ErrorComponentProps) {
  return (
    <div className="grid max-w-2xl gap-4">
      <Trouble error={error} />
    </div>
  );
}

function Trouble({ error }: Pick<ErrorComponentProps, "error">) {
  return (
    <>
      <PageHeading title="This cannot be shown" />
      <ProblemAlert error={error instanceof Error ? error : new Error(String(error))} />
      <p>
        <TextLink to="/">Go to your organizations</TextLink>
      </p>
    </>
  );
}
