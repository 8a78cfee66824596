import type { SqlResult } from "./read-messages.ts";

/** PostgreSQL's plan of a statement, whose spaces show its tree. */
export function Plan({ result: { rows } }: { readonly result: SqlResult }) {
  return (
    <section
      aria-label="Plan"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard
      tabIndex={0}
      className="relative max-h-[max(24rem,calc(100dvh-12rem))] overflow-auto rounded-lg border border-line bg-surface p-4"
    >
      <pre className="font-mono text-sm">{rows.map(([line = null]) => String(line)).join("\n")}</pre>
    </section>
  );
}
