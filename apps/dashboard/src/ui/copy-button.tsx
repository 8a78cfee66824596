import { useEffect, useState } from "react";
import { Button } from "./button.tsx";
import { classNames } from "./class-names.ts";
import { CheckIcon, CopyIcon } from "./icons.tsx";

interface CopyProps {
  /** A function for a long text, called when it is copied. */
  readonly text: string | (() => string);
  /** The text's name for screen readers: "the key". */
  readonly what: string;
}

interface CopyButtonProps extends CopyProps {
  /** Only the icon, within text. */
  readonly compact?: boolean;
  /** The element that contains the text, if several buttons have the same label. */
  readonly described_by?: string;
}

/** Copies the text to the clipboard and confirms it. */
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

/** A secret that is shown once, in one line to select or copy. */
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

/**
 * Copies a text and returns whether it worked. Without a clipboard API (plain HTTP), uses the browser's copy command.
 */
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
