import { type ExactJson, ExactNumber, printExact } from "@appdb/contract/clients/exact-json";
import { classNames } from "../../ui/class-names.ts";

/** Maximum characters of a value in a table. A row shows the whole value. */
const MAX_CHARACTERS = 160;

/** A value in a cell: one line, shortened. */
export function CellValue({ value }: { readonly value: ExactJson | undefined }) {
  if (value === null || value === undefined) return <span className="text-muted italic">null</span>;
  if (value === "") return <span className="text-muted italic">empty</span>;
  const text = shortText(value);
  return (
    <span
      className={classNames(
        "block max-w-72 truncate",
        typeof value !== "string" && "font-mono text-xs",
        value instanceof ExactNumber && "tabular-nums",
      )}
    >
      {text}
    </span>
  );
}

/** A value in full. */
export function FullValue({ value }: { readonly value: ExactJson | undefined }) {
  if (value === null || value === undefined || value === "") return <CellValue value={value} />;
  const isText = typeof value === "string";
  return (
    <pre
      className={classNames(
        "max-h-80 overflow-y-auto break-words whitespace-pre-wrap",
        isText ? "font-sans text-sm" : "font-mono text-xs leading-5",
      )}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard
      tabIndex={0}
    >
      {isText ? value : printExact(value, 2)}
    </pre>
  );
}

/** In one line, with marks for line breaks, shortened. */
export function shortText(value: ExactJson): string {
  const text = typeof value === "string" ? value.slice(0, MAX_CHARACTERS * 2) : printExact(value);
  const line = text.replaceAll(/\r?\n/g, " ⏎ ");
  return line.length > MAX_CHARACTERS ? `${line.slice(0, MAX_CHARACTERS)}…` : line;
}
