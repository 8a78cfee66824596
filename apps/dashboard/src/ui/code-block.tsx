import { CopyButton } from "./copy-button.tsx";

interface CodeBlockProps {
  readonly title: string;
  readonly text: string;
  /** Its name for screen readers. */
  readonly what: string;
  readonly tall?: boolean;
}

/** A block of code with a copy button. */
export function CodeBlock({ title, text, what, tall = false }: CodeBlockProps) {
  return (
    <div className="grid grid-cols-1 gap-1.5">
      <div className="flex items-center justify-between gap-3">
        <p className="text-sm font-medium">{title}</p>
        <CopyButton text={text} what={what} />
      </div>
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard
        tabIndex={0}
        className={`${tall ? "max-h-112" : "max-h-52"} overflow-auto rounded-md border border-line bg-sunken px-3 py-2.5 text-xs leading-5`}
      >
        {text}
      </pre>
    </div>
  );
}
