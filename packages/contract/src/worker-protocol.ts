import type { Expr } from "./expressions.ts";
import type { ColumnType, EngineValue } from "./types.ts";

/**
 * The protocol between the engine and a UDF worker (`python -m appdb.worker`), version 1.
 *
 * Transport: the worker's stdin and stdout as the engine sees them, each a stream of frames: 4 bytes big-endian
 * length, then one msgpack value (maps with string keys, `t` names the frame). At its start the worker moves both
 * descriptors away, so that user code reads an empty stdin and prints to stderr, which the engine sends to the log.
 * Frames of both directions interleave freely; `call` numbers are the engine's and unique per process.
 *
 * Values cross as `EngineValue` says (types.ts). Rows travel column-wise. A float that is integral may arrive as a
 * msgpack integer: the receiver goes by the declared type.
 */
export const WORKER_PROTOCOL = 1;

export type ToWorker =
  /** First frame. Modules are imported before `ready` is answered. `memory_bytes` bounds the worker's own growth. */
  | {
      t: "init";
      protocol: number;
      project_root: string;
      modules: string[];
      memory_bytes: number;
    }
  /** Defines a graph under a number; a later `run` names it. */
  | { t: "graph"; graph: number; inputs: GraphColumn[]; steps: GraphStep[]; functions: GraphFunction[] }
  /** Runs a graph over `n` rows; `columns[i]` has the n values of input i. */
  | { t: "run"; call: number; graph: number; n: number; columns: EngineValue[][] }
  /** Ends the worker when what it runs now is done. */
  | { t: "exit" };

export interface GraphColumn {
  name: string;
  type: ColumnType;
  nullable: boolean;
}

/** One computed column, in an order in which each reads inputs and earlier steps only. */
export interface GraphStep extends GraphColumn {
  expr: Expr;
}

export interface GraphFunction {
  id: string;
  module: string;
  name: string;
}

export type FromWorker =
  | { t: "ready"; protocol: number; pid: number; python: string }
  /** The application's modules could not be imported; the worker ends. */
  | { t: "failed"; error: WorkerError }
  /** The worker starts row `row` of a call; sent when a chunk's row has run for 5 ms or more, so that the engine knows
   *  which row it was when the worker dies or hangs. */
  | { t: "at"; call: number; row: number }
  /** Results of `rows.length` rows: `columns[s][k]` is the value of step s for row `rows[k]`; `errors[k]` is null or
   *  the errors of that row by step name. Sent at least every 20 ms while rows are ready. */
  | {
      t: "rows";
      call: number;
      rows: number[];
      columns: EngineValue[][];
      errors: (Record<string, WorkerError> | null)[] | null;
    }
  /** All rows of the call have been answered. */
  | { t: "done"; call: number };

/** Why a cell has no value. `kind` `memory` asks for the worker's replacement; `skipped` = a column that it reads failed. */
export interface WorkerError {
  kind: "raised" | "wrong_type" | "memory" | "skipped" | "import";
  /** Function or operator: `app:excerpt`, `op.truediv`. */
  function: string;
  /** Exception class name: `ZeroDivisionError`. */
  type: string;
  message: string;
  /** Where it was raised, in the application's own files: `udfs.py:12`; null when unknown. */
  at: string | null;
}
