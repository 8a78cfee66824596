import type { ReactNode } from "react";
import { Button } from "./button.tsx";
import { classNames } from "./class-names.ts";

interface ToggleButtonProps {
  readonly pressed: boolean;
  /** Whether its activity works: the dot next to the label. */
  readonly works: boolean;
  readonly small?: boolean;
  readonly onToggle: () => void;
  readonly children: ReactNode;
}

/** A button whose activity lasts while it is pressed. */
export function ToggleButton({ pressed, works, small = false, onToggle, children }: ToggleButtonProps) {
  return (
    <Button
      small={small}
      aria-pressed={pressed}
      className="aria-pressed:border-accent aria-pressed:bg-accent-soft"
      onClick={onToggle}
    >
      <span
        aria-hidden="true"
        className={classNames("size-2 rounded-full", pressed && works ? "bg-good" : "bg-field")}
      />
      {children}
    </Button>
  );
}
