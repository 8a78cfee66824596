import { memo, type ReactNode, useLayoutEffect, useMemo, useRef, useState } from "react";
import { ProblemAlert } from "../../ui/alert.tsx";
import { Button } from "../../ui/button.tsx";
import { classNames } from "../../ui/class-names.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { formatCount } from "../../ui/format.ts";
import { filterLines, groupLines, type LogLevel, MAX_LINES, printLine, type ShownLine } from "./log-lines.ts";
import type { Log } from "./use-log.ts";

interface LogViewProps {
  /** The log's name, for screen readers. */
  readonly label: string;
  readonly log: Log;
  readonly level?: LogLevel;
  readonly search?: string;
  /** Shown if there are no lines. */
  readonly empty: ReactNode;
  /** Fields that select what is shown, before the buttons. */
  readonly tools?: ReactNode;
  readonly onDownload: () => void;
  readonly tall?: boolean;
}

/** Shows lines as they arrive. It scrolls with them until its reader scrolls up; a button scrolls to the end again. */
export function LogView(props: LogViewProps) {
  const { label, log, level = "debug", search = "", empty, tools, onDownload, tall = false } = props;
  const shown = useMemo(() => filterLines(log.lines, level, search), [log.lines, level, search]);
  const groups = useMemo(() => groupLines(shown), [shown]);
  const { frame, is_at_end: isAtEnd, onScroll, toEnd } = useEnd(shown);
  const isTruncated = log.lines.length === MAX_LINES;
  const whileEmpty = log.has_ended ? empty : "Waiting for lines ...";
  return (
    <div className="grid grid-cols-1 gap-2.5">
      <div className="flex flex-wrap items-end justify-between gap-x-4 gap-y-2.5">
        <div className="flex min-w-0 flex-wrap items-end gap-2.5">{tools}</div>
        {log.lines.length > 0 && (
          <div className="flex gap-2">
            <CopyButton text={() => `${shown.map(printLine).join("\n")}\n`} what="the displayed lines" />
            <Button small onClick={onDownload}>
              Download
            </Button>
          </div>
        )}
      </div>
      {log.error && <ProblemAlert error={log.error} />}
      <div className="relative">
        <section
          ref={frame}
          aria-label={label}
          onScroll={onScroll}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard
          tabIndex={0}
          className={classNames(
            "overflow-y-auto rounded-lg border border-line bg-surface py-2 font-mono text-xs leading-5",
            tall ? "h-[max(20rem,calc(100dvh-24rem))]" : "max-h-96",
          )}
        >
          {isTruncated && (
            <p className="px-4 py-1 font-sans text-muted">
              The last {formatCount(MAX_LINES)} lines. Download the log to see all lines.
            </p>
          )}
          {shown.length === 0 && (
            <p className="px-4 py-1 font-sans text-sm text-muted">
              {log.lines.length > 0 ? "No line matches." : whileEmpty}
            </p>
          )}
          {groups.map((group) => (
            <LineGroup key={group[0]?.index} lines={group} first={group[0]?.index} last={group.at(-1)?.index} />
          ))}
        </section>
        {!isAtEnd && (
          <Button small className="absolute right-4 bottom-3 shadow-md" onClick={toEnd}>
            Scroll to the end
          </Button>
        )}
      </div>
    </div>
  );
}

/** Scrolls to the end while the reader is there. */
function useEnd(shown: readonly ShownLine[]) {
  const frame = useRef<HTMLElement>(null);
  const [isAtEnd, setAtEnd] = useState(true);
  const top = useRef(0);
  const toEnd = () => {
    const element = frame.current;
    if (element === null) return;
    element.scrollTop = element.scrollHeight;
    top.current = element.scrollTop;
    setAtEnd(true);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: new lines change the height
  useLayoutEffect(() => {
    if (isAtEnd) toEnd();
  }, [shown]);
  const onScroll = () => {
    const element = frame.current;
    if (element === null) return;
    const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < 30;
    // new lines change the height too: only scrolling up leaves the end
    if (isAtEnd) setAtEnd(true);
    else if (element.scrollTop < top.current) setAtEnd(false);
    top.current = element.scrollTop;
  };
  return { frame, is_at_end: isAtEnd, onScroll, toEnd };
}

interface LineGroupProps {
  readonly lines: readonly ShownLine[];
  readonly first: number | undefined;
  readonly last: number | undefined;
}

/** Rendered only while visible (styles.css). */
const LineGroup = memo(
  function LineGroup({ lines }: LineGroupProps) {
    return (
      <div className="log-group">
        {lines.map((line) => (
          <Line key={line.index} line={line} />
        ))}
      </div>
    );
  },
  (before, after) =>
    before.first === after.first && before.last === after.last && before.lines.length === after.lines.length,
);

const LEVELS = {
  debug: "text-muted",
  info: "text-muted",
  warn: "text-warn",
  error: "text-danger",
} as const satisfies Record<LogLevel, string>;

function Line({ line: { at, level, line } }: { readonly line: ShownLine }) {
  return (
    <div
      className={classNames(
        "grid grid-cols-1 gap-x-3 px-4 hover:bg-sunken sm:grid-cols-[auto_2.75rem_minmax(0,1fr)]",
        level === "error" && "bg-danger-soft",
        level === "warn" && "bg-warn-soft",
      )}
    >
      <time dateTime={at} className="whitespace-nowrap text-muted max-sm:hidden">
        {at.slice(11, 23)}
      </time>
      <span className={classNames("max-sm:hidden", LEVELS[level])}>{level}</span>
      <span className="break-words whitespace-pre-wrap">{line}</span>
    </div>
  );
}
