import { BATCHING, Coalescer, type Outcome } from "../batching/coalescer.ts";
import type { Generators, Row } from "../compute/row-layout.ts";
import {
  isKeyTaken,
  type Once,
  ReplayedRequest,
  type RequestStore,
  type ResponseToStore,
} from "../idempotency/request-store.ts";
import type { SqlConnection, SqlPool, UdfRunner } from "../ports.ts";
import type { QueryLimits } from "../sql/query-limits.ts";
import { rowBytes } from "../statements/row-parameters.ts";
import { isRowRefusal } from "./sql-refusals.ts";
import type { TableVersion } from "./table-version.ts";
import type { TableVersionGuard } from "./table-version-guard.ts";

export interface WriteDeps extends Generators {
  readonly sql: SqlPool;
  readonly udf: () => UdfRunner;
  /** Of the pool, for the errors that name it. */
  readonly limits: Pick<QueryLimits, "statement_timeout_ms">;
  readonly requests: RequestStore;
}

/** What travels through a pipeline: a row, with its request when that has an idempotency key. */
export interface WriteItem {
  readonly row: Row;
  readonly request?: Once | undefined;
}

/** What distinguishes one kind of write from the others. The pipeline does the rest for all of them. */
export interface WriteVerb<Item extends WriteItem, Answer> {
  /** Divides a batch into groups that are written one after the other, each by one statement. */
  plan(items: readonly Item[]): readonly (readonly Item[])[];
  /**
   * Writes a group in one transaction: one outcome per item, in order. Undefined when the table has another version by now
   * and nothing was written. @throws SqlError
   */
  statement(
    items: readonly Item[],
    version: TableVersion,
    sql: SqlConnection,
  ): Promise<readonly Outcome<Answer>[] | undefined>;
  /** What becomes of an item that PostgreSQL refused on its own. */
  settle(item: Item, error: unknown): Outcome<Answer>;
  /** The response to store in the transaction of the statement. Left out: the statement stores responses itself. */
  response?(item: Item, answer: Answer): ResponseToStore | undefined;
}

const LOST = { error: new Error("A row has no outcome.") } as const;

/**
 * The stages that all writes of a table share: items that are ready together form a batch, the verb divides it into groups,
 * a group is one statement for the table as it is, and each item gets its own outcome. Requests that were answered before
 * are left out of the statement.
 */
export class WritePipeline<Item extends WriteItem, Answer> {
  readonly #deps: Pick<WriteDeps, "sql" | "requests">;
  readonly #guard: TableVersionGuard;
  readonly #verb: WriteVerb<Item, Answer>;
  readonly #coalescer: Coalescer<Item, Answer>;
  /** The last batch had requests that were answered before: the next is likely to have some too. */
  #expectsReplays = false;

  constructor(deps: Pick<WriteDeps, "sql" | "requests">, guard: TableVersionGuard, verb: WriteVerb<Item, Answer>) {
    this.#deps = deps;
    this.#guard = guard;
    this.#verb = verb;
    this.#coalescer = new Coalescer({
      ...BATCHING,
      weigh: ({ row }) => rowBytes(row),
      run: (items) => this.#runBatch(items),
    });
  }

  /** Writes an item with those that are ready at the same time. @throws overloaded; the error that the verb settles on */
  submit(item: Item): Promise<Answer> {
    return this.#coalescer.submit(item);
  }

  /** Writes an item by a statement of its own, at once. @throws the error that the verb settles on */
  async runAlone(item: Item): Promise<Answer> {
    const [outcome = LOST] = await this.#runBatch([item]);
    if ("error" in outcome) throw outcome.error;
    return "later" in outcome ? await outcome.later() : outcome.answer;
  }

  /** Resolves when no item waits or is being written. */
  drain(): Promise<void> {
    return this.#coalescer.drain();
  }

  async #runBatch(items: readonly Item[]): Promise<readonly Outcome<Answer>[]> {
    const groups = this.#verb.plan(items);
    if (groups.length === 1 && groups[0] === items) return this.#runGroup(items);
    const outcomes = new Map<Item, Outcome<Answer> | undefined>();
    for (const group of groups) {
      const found = await this.#runGroup(group);
      group.forEach((item, at) => {
        outcomes.set(item, found[at]);
      });
    }
    return items.map((item) => outcomes.get(item) ?? LOST);
  }

  #runGroup(items: readonly Item[]): Promise<readonly Outcome<Answer>[]> {
    return bisectBatch(
      items,
      (part) => this.#write(part),
      (item, error) => this.#verb.settle(item, error),
    );
  }

  /** A key that is taken undoes the whole statement, which then starts over without the requests that were answered. */
  #write(items: readonly Item[]): Promise<readonly Outcome<Answer>[]> {
    const replayed = new Map<Item, Outcome<Answer>>();
    const left = () => (replayed.size === 0 ? items : items.filter((item) => !replayed.has(item)));
    const attempt = async (version: TableVersion) => {
      if (this.#expectsReplays && replayed.size === 0) await this.#findReplayed(items, replayed);
      const now = left();
      const outcomes = now.length === 0 ? [] : await this.#execute(now, version);
      if (outcomes === undefined || replayed.size === 0) return outcomes;
      let next = 0;
      return items.map((item) => replayed.get(item) ?? outcomes[next++] ?? LOST);
    };
    return this.#guard.run(attempt, async (error) => {
      if (!isKeyTaken(error)) return false;
      await this.#findReplayed(left(), replayed);
      return true;
    });
  }

  async #findReplayed(items: readonly Item[], replayed: Map<Item, Outcome<Answer>>): Promise<void> {
    const requests = items.flatMap(({ request }) => request ?? []);
    if (requests.length === 0) return;
    const found = await this.#deps.requests.find(requests);
    this.#expectsReplays = found.size > 0;
    for (const item of items) {
      const stored = item.request === undefined ? undefined : found.get(item.request.id);
      if (stored !== undefined) replayed.set(item, { error: new ReplayedRequest(stored) });
    }
  }

  /** One attempt, in one transaction with the responses that are to be stored. */
  async #execute(items: readonly Item[], version: TableVersion): Promise<readonly Outcome<Answer>[] | undefined> {
    const { sql, requests } = this.#deps;
    const verb = this.#verb;
    if (verb.response === undefined || items.every(({ request }) => request === undefined)) {
      return verb.statement(items, version, sql);
    }
    return sql.transaction(async (connection) => {
      const outcomes = await verb.statement(items, version, connection);
      const responses = items.flatMap((item, at) => {
        const outcome = outcomes?.[at];
        return outcome !== undefined && "answer" in outcome ? (verb.response?.(item, outcome.answer) ?? []) : [];
      });
      if (responses.length > 0) await requests.keep(connection, responses);
      return outcomes;
    });
  }
}

/**
 * Runs a batch. When PostgreSQL refuses it for one of its rows, each half runs on its own until the bad row is alone. Never
 * throws: one half may be committed when the other one meets a broken connection, so each row gets the outcome of its half.
 */
async function bisectBatch<Item, Answer>(
  items: readonly Item[],
  run: (items: readonly Item[]) => Promise<readonly Outcome<Answer>[]>,
  onSingleFailure: (item: Item, error: unknown) => Outcome<Answer>,
): Promise<readonly Outcome<Answer>[]> {
  try {
    return await run(items);
  } catch (error) {
    if (!isRowRefusal(error)) return items.map((item) => onSingleFailure(item, error));
    const [first] = items;
    if (items.length === 1 && first !== undefined) return [onSingleFailure(first, error)];
  }
  const middle = items.length >> 1;
  const left = await bisectBatch(items.slice(0, middle), run, onSingleFailure);
  const right = await bisectBatch(items.slice(middle), run, onSingleFailure);
  return [...left, ...right];
}
