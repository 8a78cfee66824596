import type { ControlClient } from "@appdb/contract/clients/control-client";
import { AppError } from "@appdb/contract/errors";
import type { LogLine } from "@appdb/contract/routes/control-databases";
import { useEffect, useRef, useState } from "react";
import { useApi } from "../../api/api.tsx";
import { pause } from "../../api/pause.ts";
import { addLines, type ShownLine } from "./log-lines.ts";

/** How long lines are collected before they are shown: a build may print hundreds a second. */
const GATHER_MS = 100;
/** Pause before an interrupted log is resumed. */
const PAUSE_MS = 2_000;
const OPEN_MS = 1_000;

interface LogSource {
  /** Identifies the log. Another key starts over. */
  readonly key: string;
  /** Opens the log after the line of this number. */
  readonly open: (control: ControlClient, after: number, signal: AbortSignal) => AsyncIterable<LogLine>;
  /** Whether lines have numbers to resume after. Otherwise the log is read from the start again. */
  readonly is_numbered: boolean;
  /** Whether to reopen the log after its end, because more will follow. */
  readonly is_live: boolean;
}

export interface Log {
  readonly lines: readonly ShownLine[];
  /** Whether no more lines will arrive. */
  readonly has_ended: boolean;
  /** Why no lines arrive. */
  readonly error: Error | null;
}

const NOTHING: Log = { lines: [], has_ended: false, error: null };

/** Follows a log. Pauses while its page is hidden, because browsers allow few connections to one server. */
export function useLog({ key, open, is_numbered: isNumbered, is_live: isLive }: LogSource): Log {
  const { control } = useApi();
  const [log, setLog] = useState<Log & { readonly key: string }>({ ...NOTHING, key });
  const last = useRef({ key, number: 0 });
  const isVisible = useVisible();

  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` identifies `open`
  useEffect(() => {
    if (!isVisible) return;
    if (last.current.key !== key) last.current = { key, number: 0 };
    const stop = new AbortController();
    let gathered: LogLine[] = [];
    let isAnew = !isNumbered;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const show = (more: Partial<Log> = {}) => {
      clearTimeout(timer);
      timer = undefined;
      const came = gathered;
      gathered = [];
      const replaces = isAnew && (came.length > 0 || more.has_ended === true);
      if (replaces) isAnew = false;
      setLog((before) => {
        const lines = before.key === key && !replaces ? before.lines : [];
        return { key, has_ended: false, error: null, ...more, lines: addLines(lines, came) };
      });
    };
    const read = async () => {
      isAnew = !isNumbered;
      // without a failure by then, it counts as open even without lines
      timer = setTimeout(show, OPEN_MS);
      for await (const line of open(control, last.current.number, stop.signal)) {
        if (isNumbered) last.current.number = line.number;
        if (gathered.push(line) > 1) continue;
        clearTimeout(timer);
        timer = setTimeout(show, GATHER_MS);
      }
    };
    const readOn = async () => {
      while (!stop.signal.aborted) {
        const error = await read().then(
          () => null,
          (cause: unknown) => (cause instanceof Error ? cause : new Error(String(cause))),
        );
        if (stop.signal.aborted) return;
        const hasEnded = error === null ? !isLive : isFinal(error);
        show({ has_ended: hasEnded, error });
        if (hasEnded) return;
        await pause(PAUSE_MS, stop.signal);
      }
    };
    void readOn();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [control, key, isNumbered, isLive, isVisible]);

  return log.key === key ? log : NOTHING;
}

/** Whether a retry would fail too. */
function isFinal(error: Error): boolean {
  return error instanceof AppError && error.status >= 400 && error.status < 500 && error.status !== 409;
}

function useVisible(): boolean {
  const [isVisible, setVisible] = useState(!document.hidden);
  useEffect(() => {
    const look = () => setVisible(!document.hidden);
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, []);
  return isVisible;
}
