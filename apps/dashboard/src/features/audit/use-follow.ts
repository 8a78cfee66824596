import type { AuditEvent } from "@appdb/contract/routes/control";
import { useEffect, useRef, useState } from "react";
import { useApi } from "../../api/api.tsx";
import { pause } from "../../api/pause.ts";

/** Pause before a broken stream is resumed. */
const PAUSE_MS = 2_000;

interface Following {
  /** In the order of arrival. */
  readonly events: readonly AuditEvent[];
  /** Why no events arrive. */
  readonly error: Error | null;
}

/** Streams the audit log after the event `after`, while `isFollowing`. */
export function useFollow(org: string, isFollowing: boolean, after: string | undefined): Following {
  const { control } = useApi();
  const [events, setEvents] = useState<readonly AuditEvent[]>([]);
  const [error, setError] = useState<Error | null>(null);
  const last = useRef<string | undefined>(undefined);
  // the start position; later events advance it
  const start = useRef(after);
  start.current = after;

  useEffect(() => {
    if (!isFollowing) return;
    const stop = new AbortController();
    last.current ??= start.current;
    const follow = async () => {
      while (!stop.signal.aborted) {
        try {
          for await (const event of control.follow("eventList", { params: { org } }, last.current, stop.signal)) {
            last.current = event.id;
            setError(null);
            setEvents((known) => [...known, event]);
          }
        } catch (cause) {
          if (!stop.signal.aborted) setError(cause instanceof Error ? cause : new Error(String(cause)));
        }
        await pause(PAUSE_MS, stop.signal);
      }
    };
    void follow();
    return () => {
      stop.abort();
      setError(null);
    };
  }, [control, org, isFollowing]);

  return { events, error };
}
