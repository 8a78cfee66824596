import type { ReactNode } from "react";
import { classNames } from "./class-names.ts";

export type Tone = "plain" | "accent" | "good" | "warn" | "danger";

const TONES: Readonly<Record<Tone, string>> = {
  plain: "bg-sunken text-muted",
  accent: "bg-accent-soft text-accent",
  good: "bg-good-soft text-good",
  warn: "bg-warn-soft text-warn",
  danger: "bg-danger-soft text-danger",
};

/** A short label: a state or a role. */
export function Badge({ tone = "plain", children }: { readonly tone?: Tone; readonly children: ReactNode }) {
  return (
    <span
      className={classNames(
        "inline-flex items-center rounded px-1.5 py-0.5 text-xs font-medium whitespace-nowrap",
        TONES[tone],
      )}
    >
      {children}
    </span>
  );
}
