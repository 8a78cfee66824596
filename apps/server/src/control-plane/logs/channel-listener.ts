import type { Channel, Notifications } from "../../database/notifications.ts";

/** Wakes a waiting reader when its channel is notified. */
export interface ChannelListener extends AsyncDisposable {
  /** Resolves after a notification since the last call, or when the signal aborts. */
  wait(signal: AbortSignal): Promise<void>;
}

/** Listens on channels for one payload, or for any. Misses no notification after it resolves. */
export async function openChannelListener(
  notifications: Notifications,
  channels: readonly Channel[],
  payload?: string,
): Promise<ChannelListener> {
  let hasRung = false;
  let wake = () => {};
  const onMessage = (found: string | undefined) => {
    if (found !== undefined && payload !== undefined && found !== payload) return;
    hasRung = true;
    wake();
  };
  const stops = await Promise.all(channels.map((channel) => notifications.listen(channel, onMessage)));
  return {
    async wait(signal) {
      const over = () => wake();
      signal.addEventListener("abort", over);
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (hasRung || signal.aborted) resolve();
      });
      signal.removeEventListener("abort", over);
      hasRung = false;
    },
    async [Symbol.asyncDispose]() {
      for (const stop of stops) stop();
    },
  };
}
