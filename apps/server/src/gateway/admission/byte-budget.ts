import { Gauge, type Registry } from "prom-client";

/** Owner of bytes from callers without a valid key, so that they never use an organization's share. */
export const STRANGERS = "";
/** One owner may hold one part in this many. */
const SHARE = 4;

/** Counts bytes of bodies and answers in the gateway's memory, by owner: the id of an organization, or `STRANGERS`. */
export interface ByteBudget {
  /** Counted bytes of all owners. */
  readonly usedBytes: number;
  /** Maximum bytes of one owner. */
  readonly share_bytes: number;
  /** Reserves bytes. Returns false, reserving none, if the owner's share or the whole budget is too small. */
  tryReserve(owner: string, bytes: number): boolean;
  /** Counts bytes that are already in memory and cannot be refused. */
  add(owner: string, bytes: number): void;
  /** Releases bytes that `tryReserve` or `add` counted. */
  give(owner: string, bytes: number): void;
}

/** Creates a budget of `maxBytes` for all owners. Each owner may use a quarter. */
export function createByteBudget(maxBytes: number): ByteBudget {
  const owners = new Map<string, number>();
  const shareBytes = Math.floor(maxBytes / SHARE);
  let usedBytes = 0;
  const add = (owner: string, bytes: number) => {
    usedBytes += bytes;
    owners.set(owner, (owners.get(owner) ?? 0) + bytes);
  };
  return {
    get usedBytes() {
      return usedBytes;
    },
    share_bytes: shareBytes,
    tryReserve(owner, bytes) {
      if (usedBytes + bytes > maxBytes || (owners.get(owner) ?? 0) + bytes > shareBytes) return false;
      add(owner, bytes);
      return true;
    },
    add,
    give(owner, bytes) {
      usedBytes -= bytes;
      const remaining = (owners.get(owner) ?? 0) - bytes;
      if (remaining === 0) owners.delete(owner);
      else owners.set(owner, remaining);
    },
  };
}

/** Adds the counted bytes to the metrics. */
export function addBudgetMetrics(registry: Registry, budget: Pick<ByteBudget, "usedBytes">): void {
  new Gauge({
    name: "appdb_gateway_held_bytes",
    help: "Bytes of bodies and answers in the gateway's memory.",
    registers: [registry],
    collect() {
      this.set(budget.usedBytes);
    },
  });
}
