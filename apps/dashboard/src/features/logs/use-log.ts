import type { ControlClient } from "@appdb/contract/clients/control-client";
import { AppError } from "@appdb/contract/errors";
import type { LogLine } from "@appdb/contract/routes/control-databases";
import { useEffect, useRef, useState } from "react";
import { useApi } from "../../api/api.tsx";
import { pause } from "../../api/pause.ts";
import { addLines, type ShownLine } from "./log-lines.ts";

/** How long lines are gathered before they are shown: a build prints hundreds a second. */
const GATHER_MS = 100;
/** How long a log that broke off is left before it is asked for again. */
const PAUSE_MS = 2_000;
const OPEN_MS = 1_000;

interface LogSource {
  /** Which log it is: another one begins anew. */
  readonly key: string;
  /** Opens it behind the line of this number. */
  readonly open: (control: ControlClient, after: number, signal: AbortSignal) => AsyncIterable<LogLine>;
  /** Lines are numbered, so that it goes on where it broke off; else it is read anew. */
  readonly is_numbered: boolean;
  /** What is done once it ended: nothing, or it is asked for again, because there will be more. */
  readonly goes_on: boolean;
}

export interface Log {
  readonly lines: readonly ShownLine[];
  /** Nothing comes any more. */
  readonly has_ended: boolean;
  /** Why nothing comes at present. */
  readonly error: Error | null;
}

const NOTHING: Log = { lines: [], has_ended: false, error: null };

/** A log as it grows. It rests while its page is out of sight: browsers open few connections to one server at a time. */
export function useLog({ key, open, is_numbered: isNumbered, goes_on: goesOn }: LogSource): Log {
  const { control } = useApi();
  const [log, setLog] = useState<Log & { readonly key: string }>({ ...NOTHING, key });
  const last = useRef({ key, number: 0 });
  const isVisible = useVisible();

  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` says when `open` is another log
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
      // what has not failed by then is open, though nothing came yet
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
        const hasEnded = error === null ? !goesOn : isFinal(error);
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
  }, [control, key, isNumbered, goesOn, isVisible]);

  return log.key === key ? log : NOTHING;
}

/** Asking again would be answered the same. */
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
