import type { ComponentProps } from "react";
import { classNames } from "./class-names.ts";

const SMALL = "h-8 rounded-md border border-field bg-surface text-sm text-ink";

/** A compact select for toolbars. */
export function SmallSelect({ label, className, ...rest }: { readonly label: string } & ComponentProps<"select">) {
  return (
    <label className="grid gap-1 text-xs text-muted">
      {label}
      <select className={classNames(SMALL, "px-2", className)} {...rest} />
    </label>
  );
}

/** A compact text field for toolbars. */
export function SmallField({ label, className, ...rest }: { readonly label: string } & ComponentProps<"input">) {
  return (
    <label className="grid gap-1 text-xs text-muted">
      {label}
      <input className={classNames(SMALL, "px-2.5", className)} {...rest} />
    </label>
  );
}
