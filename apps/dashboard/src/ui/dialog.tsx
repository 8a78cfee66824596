import { type ReactNode, useEffect, useId, useRef } from "react";
import { classNames } from "./class-names.ts";
import { Command } from "./command.tsx";

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  /** False for content that cannot be shown again: Escape and clicks outside do nothing. */
  readonly dismissable?: boolean;
  /** Whether it has room for a table. */
  readonly isWide?: boolean;
  readonly children: ReactNode;
}

/** A modal dialog that is open while it is rendered. The browser's dialog element traps and restores the focus. */
export function Dialog({ title, onClose, dismissable = true, isWide = false, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const element = dialog.current;
    const before = document.activeElement;
    element?.showModal();
    // otherwise the browser focuses the first focusable element
    element?.querySelector<HTMLElement>("[data-has-focus]")?.focus();
    return () => {
      element?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={heading}
      className={classNames(
        // it may be inside a cell with another alignment
        "m-auto max-h-[calc(100dvh-2rem)] overflow-y-auto rounded-xl text-left border border-line bg-surface p-0 text-ink shadow-xl",
        isWide ? "w-[min(56rem,calc(100vw-2rem))]" : "w-[min(34rem,calc(100vw-2rem))]",
      )}
      onCancel={(event) => {
        event.preventDefault();
        if (dismissable) onClose();
      }}
      // a click on the backdrop targets the dialog itself; the keyboard has Escape
      onMouseDown={(event) => {
        if (dismissable && event.target === dialog.current) onClose();
      }}
    >
      <div className="grid gap-5 p-6">
        <h2 id={heading} className="text-lg font-semibold">
          {title}
        </h2>
        {children}
      </div>
    </dialog>
  );
}

interface DialogButtonsProps {
  /** The equivalent CLI command. */
  readonly command?: string | undefined;
  readonly children: ReactNode;
}

/** The buttons at the end of a dialog. The confirming one comes last. */
export function DialogButtons({ command, children }: DialogButtonsProps) {
  return (
    <>
      {command && (
        <p>
          <Command text={command} />
        </p>
      )}
      <div className="mt-1 flex flex-wrap justify-end gap-2.5">{children}</div>
    </>
  );
}
