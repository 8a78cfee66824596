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
  /** The pool's limits, for error messages. */
  readonly limits: Pick<QueryLimits, "statement_timeout_ms">;
  readonly requests: RequestStore;
}

/** An item of a pipeline: a row, and its request if that has an idempotency key. */
export interface WriteItem {
  readonly row: Row;
  readonly request?: Once | undefined;
}

/** The parts in which kinds of writes differ. The pipeline handles the rest. */
export interface WriteVerb<Item extends WriteItem, Answer> {
  /** Divides a batch into groups that are written in sequence, one statement each. */
  plan(items: readonly Item[]): readonly (readonly Item[])[];
  /**
   * Writes a group in one transaction. Returns one outcome per item, in order. Undefined: the table version changed and
   * nothing was written. @throws SqlError
   */
  statement(
    items: readonly Item[],
    version: TableVersion,
    sql: SqlConnection,
  ): Promise<readonly Outcome<Answer>[] | undefined>;
  /** The outcome of an item that PostgreSQL refused on its own. */
  settle(item: Item, error: unknown): Outcome<Answer>;
  /** The response to store in the transaction of the statement. Omitted: the statement stores responses itself. */
  response?(item: Item, answer: Answer): ResponseToStore | undefined;
}

const LOST = { error: new Error("A row has no outcome.") } as const;

/**
 * The stages that all writes of a table share. Items that are ready together form a batch, and the verb divides it into
 * groups. Each group is one statement for the current table version, and each item gets its own outcome. Requests with
 * a stored answer are left out.
 */
export class WritePipeline<Item extends WriteItem, Answer> {
  readonly #deps: Pick<WriteDeps, "sql" | "requests">;
  readonly #guard: TableVersionGuard;
  readonly #verb: WriteVerb<Item, Answer>;
  readonly #coalescer: Coalescer<Item, Answer>;
  /** The last batch had requests with stored answers, so the next batch probably has some too. */
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

  /** Writes an item with others that are ready at the same time. @throws overloaded; the error from `settle` */
  submit(item: Item): Promise<Answer> {
    return this.#coalescer.submit(item);
  }

  /** Writes an item at once, in its own statement. @throws the error from `settle` */
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

  /** A taken key rolls back the whole statement, which then restarts without the answered requests. */
  #write(items: readonly Item[]): Promise<readonly Outcome<Answer>[]> {
    const replayed = new Map<Item, Outcome<Answer>>();
    const unanswered = () => (replayed.size === 0 ? items : items.filter((item) => !replayed.has(item)));
    const attempt = async (version: TableVersion) => {
      if (this.#expectsReplays && replayed.size === 0) await this.#findReplayed(items, replayed);
      const now = unanswered();
      const outcomes = now.length === 0 ? [] : await this.#execute(now, version);
      if (outcomes === undefined || replayed.size === 0) return outcomes;
      let next = 0;
      return items.map((item) => replayed.get(item) ?? outcomes[next++] ?? LOST);
    };
    return this.#guard.run(attempt, async (error) => {
      if (!isKeyTaken(error)) return false;
      await this.#findReplayed(unanswered(), replayed);
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

  /** One attempt, in one transaction with the responses to store. */
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
      if (responses.length > 0) await requests.store(connection, responses);
      return outcomes;
    });
  }
}

/**
 * Runs a batch. If PostgreSQL refuses it because of one row, each half runs on its own until that row is alone. Never
 * throws: one half may commit while the other loses its connection, so each row gets the outcome of its half.
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
