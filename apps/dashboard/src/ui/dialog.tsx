import { type ReactNode, useEffect, useId, useRef } from "react";
import { classNames } from "./class-names.ts";
import { Command } from "./command.tsx";

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  /** False while it shows what cannot be shown again: Escape and a click beside it do nothing. */
  readonly dismissable?: boolean;
  /** Room for a table. */
  readonly wide?: boolean;
  readonly children: ReactNode;
}

/** A modal dialog; it is open as long as it is rendered. The browser's own keeps the focus inside and gives it back. */
export function Dialog({ title, onClose, dismissable = true, wide = false, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const element = dialog.current;
    const before = document.activeElement;
    element?.showModal();
    // else the browser's choice: the first that can have it
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
        // it may stand in a cell that is aligned otherwise
        "m-auto max-h-[calc(100dvh-2rem)] overflow-y-auto rounded-xl text-left border border-line bg-surface p-0 text-ink shadow-xl",
        wide ? "w-[min(56rem,calc(100vw-2rem))]" : "w-[min(34rem,calc(100vw-2rem))]",
      )}
      onCancel={(event) => {
        event.preventDefault();
        if (dismissable) onClose();
      }}
      // a click on the shade around it is one on the dialog itself; the keyboard has Escape
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
  /** What does the same in a terminal. */
  readonly command?: string | undefined;
  readonly children: ReactNode;
}

/** The buttons at the end of a dialog; the one that does it stands last. */
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
