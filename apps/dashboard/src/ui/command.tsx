import { useId } from "react";
import { CopyButton } from "./copy-button.tsx";

/** A command for a terminal, with a copy button. */
export function Command({ text }: { readonly text: string }) {
  const id = useId();
  return (
    <span className="inline-flex max-w-full items-center gap-0.5 rounded-md border border-line bg-sunken pr-0.5 pl-2.5">
      <code id={id} className="min-w-0 py-1 text-xs break-words text-ink select-all">
        {text}
      </code>
      <CopyButton compact text={text} what="the command" described_by={id} />
    </span>
  );
}
