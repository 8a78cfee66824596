import { appError } from "@appdb/contract/errors";

export interface StoreLimits {
  /** Requests of an organization that run at once. */
  readonly org_requests: number;
  /** Further requests of it that wait. */
  readonly org_waiting: number;
  /** Bytes in memory for an organization, and for all. */
  readonly org_bytes: number;
  readonly bytes: number;
  /** The part of all bytes that only organizations without a running request get. */
  readonly spare_bytes: number;
  /** How long a request waits. */
  readonly wait_ms: number;
  /** A put may wait so long for its sender, and a second more for each of these bytes. */
  readonly put_wait_ms: number;
  readonly put_bytes_per_s: number;
}

const MB = 1 << 20;
export const STORE_LIMITS: StoreLimits = {
  org_requests: 32,
  org_waiting: 512,
  // above the memory of the largest put, so that small requests pass it
  org_bytes: 64 * MB,
  bytes: 512 * MB,
  spare_bytes: 64 * MB,
  wait_ms: 60_000,
  put_wait_ms: 30_000,
  put_bytes_per_s: MB / 4,
};

interface Waiting {
  readonly org_id: string;
  readonly bytes: number;
  readonly begin: () => void;
}

interface Share {
  running: number;
  waiting: number;
  bytes: number;
}

/** Shares places and memory among organizations. Those that have their share wait, and others pass them. */
export class StoreBounds {
  readonly limits: StoreLimits;
  readonly #shares = new Map<string, Share>();
  readonly #waiting = new Set<Waiting>();
  #bytes = 0;

  constructor(limits: StoreLimits = STORE_LIMITS) {
    this.limits = limits;
  }

  /** Runs `work` with a place and `bytes` of memory. @throws overloaded; the reason of the signal */
  async run<T>(orgId: string, bytes: number, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const share = this.#shareOf(orgId);
    if (this.#fits(share, bytes)) this.#take(share, bytes);
    else await this.#wait(orgId, share, bytes, signal);
    try {
      return await work();
    } finally {
      this.#give(orgId, share, bytes);
    }
  }

  #shareOf(orgId: string): Share {
    const share = this.#shares.get(orgId) ?? { running: 0, waiting: 0, bytes: 0 };
    this.#shares.set(orgId, share);
    return share;
  }

  #fits(share: Share, bytes: number): boolean {
    const { bytes: all, org_bytes: orgBytes, org_requests: orgRequests, spare_bytes: spareBytes } = this.limits;
    const most = share.running === 0 ? all : all - spareBytes;
    return share.running < orgRequests && share.bytes + bytes <= orgBytes && this.#bytes + bytes <= most;
  }

  #take(share: Share, bytes: number): void {
    share.running += 1;
    share.bytes += bytes;
    this.#bytes += bytes;
  }

  async #wait(orgId: string, share: Share, bytes: number, signal: AbortSignal): Promise<void> {
    const { org_waiting: orgWaiting, wait_ms: waitMs } = this.limits;
    if (share.waiting >= orgWaiting) throw overloaded();
    const late = AbortSignal.timeout(waitMs);
    share.waiting += 1;
    await new Promise<void>((resolve, reject) => {
      const leave = () => {
        this.#waiting.delete(waiting);
        share.waiting -= 1;
        for (const one of [signal, late]) one.removeEventListener("abort", refuse);
      };
      const refuse = () => {
        leave();
        reject(signal.aborted ? signal.reason : overloaded());
      };
      const waiting: Waiting = {
        org_id: orgId,
        bytes,
        begin: () => {
          leave();
          this.#take(share, bytes);
          resolve();
        },
      };
      this.#waiting.add(waiting);
      for (const one of [signal, late]) one.addEventListener("abort", refuse);
      if (signal.aborted) refuse();
    });
  }

  #give(orgId: string, share: Share, bytes: number): void {
    share.running -= 1;
    share.bytes -= bytes;
    this.#bytes -= bytes;
    for (const waiting of [...this.#waiting]) {
      const other = this.#shareOf(waiting.org_id);
      if (this.#fits(other, waiting.bytes)) waiting.begin();
    }
    if (share.running === 0 && share.waiting === 0) this.#shares.delete(orgId);
  }
}

function overloaded(): Error {
  return appError("overloaded", {
    detail: "Too many requests to the media stores of this organization are waiting.",
    hint: "Send the request again.",
  });
}
