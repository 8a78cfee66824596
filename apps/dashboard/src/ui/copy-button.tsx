import { useEffect, useState } from "react";
import { Button } from "./button.tsx";
import { classNames } from "./class-names.ts";
import { CheckIcon, CopyIcon } from "./icons.tsx";

interface CopyProps {
  /** A long one is put together when it is asked for. */
  readonly text: string | (() => string);
  /** What is copied, for screen readers: "the key". */
  readonly what: string;
}

interface CopyButtonProps extends CopyProps {
  /** The drawing alone, in a line of text. */
  readonly compact?: boolean;
  /** Where the text stands, for buttons that are called alike. */
  readonly described_by?: string;
}

/** Puts the text on the clipboard, and says that it did. */
export function CopyButton({ text, what, compact = false, described_by: describedBy }: CopyButtonProps) {
  const [copied, setCopied] = useState<boolean | undefined>(undefined);
  useEffect(() => {
    if (copied === undefined) return;
    const timer = setTimeout(() => setCopied(undefined), 2_500);
    return () => clearTimeout(timer);
  }, [copied]);
  return (
    <Button
      small
      {...(compact && { look: "quiet", className: "h-7 px-1.5" })}
      aria-label={`Copy ${what}`}
      aria-describedby={describedBy}
      onClick={() => void copyText(typeof text === "string" ? text : text()).then(setCopied)}
    >
      {copied ? <CheckIcon /> : <CopyIcon />}
      <span aria-live="polite" className={classNames(compact && copied !== false && "sr-only")}>
        {labelOf(copied)}
      </span>
    </Button>
  );
}

function labelOf(copied: boolean | undefined): string {
  if (copied === undefined) return "Copy";
  return copied ? "Copied" : "Press Ctrl+C";
}

interface CopyFieldProps {
  readonly text: string;
  readonly what: string;
  readonly label: string;
}

/** What is shown this once, in one line that can be selected and copied. */
export function CopyField({ text, what, label }: CopyFieldProps) {
  return (
    <div className="grid gap-1.5">
      <p className="text-sm font-medium">{label}</p>
      <div className="flex items-center gap-2 rounded-md border border-line bg-sunken py-1.5 pr-1.5 pl-3">
        <code className="min-w-0 flex-1 text-sm break-all select-all" data-copied={what}>
          {text}
        </code>
        <CopyButton text={text} what={what} />
      </div>
    </div>
  );
}

/** Answers whether it went. Pages that come by plain HTTP from another machine have no clipboard; there the browser's own
 *  command to copy is answered with the text. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const answer = (event: ClipboardEvent) => {
      event.preventDefault();
      event.clipboardData?.setData("text/plain", text);
    };
    document.addEventListener("copy", answer, { once: true });
    const copied = document.execCommand("copy");
    document.removeEventListener("copy", answer);
    return copied;
  }
}
