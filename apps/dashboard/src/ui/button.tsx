import type { ComponentProps } from "react";
import { classNames } from "./class-names.ts";

type Look = "primary" | "secondary" | "danger" | "leads_to_danger" | "quiet";

interface ButtonProps extends ComponentProps<"button"> {
  readonly look?: Look;
  readonly small?: boolean;
  /** Whether its action is running: pressing again does nothing, and screen readers announce it. */
  readonly busy?: boolean;
}

const BASE =
  "inline-flex items-center justify-center gap-2 rounded-md border font-medium whitespace-nowrap no-underline transition-colors aria-disabled:opacity-60 disabled:opacity-60";

const LOOKS: Readonly<Record<Look, string>> = {
  primary: "border-transparent bg-accent text-on-accent hover:bg-accent-strong",
  secondary: "border-field bg-surface text-ink hover:bg-sunken",
  danger: "border-transparent bg-danger text-on-danger hover:bg-danger-strong",
  // opens a question first
  leads_to_danger: "border-danger/50 bg-surface text-danger hover:bg-danger-soft",
  quiet: "border-transparent bg-transparent text-muted hover:bg-sunken hover:text-ink",
};

export function Button({
  look = "secondary",
  small = false,
  busy = false,
  type = "button",
  className,
  onClick,
  ...rest
}: ButtonProps) {
  return (
    <button
      type={type}
      className={classNames(BASE, LOOKS[look], small ? "h-8 px-2.5 text-sm" : "h-9 px-3.5 text-sm", className)}
      aria-disabled={busy || undefined}
      aria-busy={busy || undefined}
      onClick={(event) => {
        if (busy) event.preventDefault();
        else onClick?.(event);
      }}
      {...rest}
    />
  );
}
