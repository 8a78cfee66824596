import type { Expr } from "@appdb/contract/expressions";
import type { ColumnType } from "@appdb/contract/types";
import type { FoldArgument, GraphColumn, GraphFunction } from "@appdb/contract/worker-protocol";
import type { BoundQuery } from "../bound-queries/bind-query.ts";
import type { CatalogFunction, CatalogTable } from "../catalog/catalog.ts";
import type { Placeholder } from "../kinds/parameter-list.ts";
import type { UdfGraph } from "../ports.ts";
import type { VectorPlan } from "./ask-vectors.ts";
import type { PythonReason } from "./python-reasons.ts";
import type { SqlMode } from "./relation.ts";

/** A statement with the values of its placeholders. Equal texts have equal names, so a connection prepares each
 *  once. */
export interface PlannedStatement {
  readonly text: string;
  readonly name: string;
  readonly placeholders: readonly Placeholder[];
}

export interface NamedType {
  readonly name: string;
  readonly type: ColumnType;
}

/** The clauses of a query during planning; each stage removes some. */
export interface Clauses {
  readonly where: readonly Expr[];
  readonly group_by: readonly Expr[];
  readonly select: readonly { readonly name: string; readonly expr: Expr }[];
  readonly order_by: readonly { readonly expr: Expr; readonly asc: boolean }[];
}

/** Rows that are read and kept, with Python values for each. The next stage reads them instead of tables. */
export interface MaterialStage {
  readonly statement: PlannedStatement;
  /** The columns of the statement, in order. */
  readonly columns: readonly NamedType[];
  readonly graph: UdfGraph | null;
  /** Number of steps that are conditions. The rest are values for the next stage, after `columns`. */
  readonly conditions: number;
  /** Rows arrive in the final order, so the query's limit and offset bound the number read. */
  readonly is_ordered: boolean;
}

/** Groups with application aggregates. The next stage reads them instead of tables. */
export interface FoldStage {
  /** Keys, then built-in aggregates, in key order. Null when there is neither: all rows are one group. */
  readonly groups: PlannedStatement | null;
  /** The columns of `groups`. */
  readonly columns: readonly NamedType[];
  /** The names of the keys for people; the keys are the first columns. */
  readonly keys: readonly string[];
  /** One for each order of rows. */
  readonly streams: readonly FoldStream[];
  /** The aggregates of all streams, in the order of their values. */
  readonly folds: readonly PlannedFold[];
  /** Tables that the statements read; empty when they read an earlier stage. */
  readonly tables: readonly CatalogTable[];
}

/** Rows in order, and the aggregates that take them. */
export interface FoldStream {
  /** The index of the group in `groups`, then the columns. */
  readonly rows: PlannedStatement;
  readonly columns: readonly NamedType[];
  readonly folds: readonly PlannedFold[];
  /** Rows come group by group, each sorted; otherwise in insertion order. */
  readonly is_sorted: boolean;
}

/** Rows with a value of application aggregates for each. The next stage reads them instead of tables. */
export interface WindowStage {
  readonly statement: PlannedStatement;
  /** The columns of the statement. The first `kept` are for the next stage, before the windows' values. */
  readonly columns: readonly NamedType[];
  readonly kept: number;
  readonly windows: readonly PlannedWindow[];
}

/** `group` and `place`: indexes of the columns with the number of a row's group, and of the row among all. */
export interface PlannedWindow {
  readonly fold: PlannedFold;
  readonly group: number;
  readonly place: number;
}

/** An application aggregate; its values come after the columns of `groups`. */
export interface PlannedFold extends NamedType {
  readonly function: GraphFunction;
  /** `at`: index among the columns of the rows. */
  readonly inputs: readonly (GraphColumn & { readonly at: number })[];
  readonly args: readonly FoldArgument[];
  readonly functions: readonly GraphFunction[];
  /** Expressions of literals and parameters. */
  readonly constants: Readonly<Record<string, Expr>>;
  /** The selected name, or the clause that reads it. */
  readonly output: string;
}

export interface QueryOutput extends NamedType {
  readonly nullable: boolean;
  /** Column of the statement's rows, or the step of the graph that computes it. */
  readonly from: { readonly sql: number } | { readonly step: number };
}

export interface FinalStage {
  readonly statement: PlannedStatement;
  /** The same result without the vector index, because a filter may leave too few of its rows. Null when no such
   *  index is used. */
  readonly exact: PlannedStatement | null;
  /** Flat names of the statement's columns after the outputs, for the graph. */
  readonly columns: readonly NamedType[];
  readonly outputs: readonly QueryOutput[];
  readonly graph: UdfGraph | null;
  /** Number of last columns with a row's position or identity, if requested. */
  readonly marks: number;
}

/** The plan of a query: stages read and keep rows, and the last statement gives the rows of the response. */
export interface QueryPlan {
  readonly bound: BoundQuery;
  readonly vectors: VectorPlan;
  readonly materials: readonly (MaterialStage | FoldStage | WindowStage)[];
  readonly final: FinalStage;
  /** The parts that Python computes, with reasons; empty when one statement is enough. */
  readonly reasons: readonly PythonReason[];
}

export interface PlanOptions {
  readonly functions: ReadonlyMap<string, CatalogFunction>;
  /** `bare` leaves every computation to Python, for rows with a value that SQL refused. */
  readonly mode: SqlMode;
  /** Maximum rows of the result. One more is requested, to detect a larger result. */
  readonly max_rows: number;
  /** Rows have marks; without it they have none. */
  readonly marked?: RowMarks | undefined;
}

/**
 * The marks on a row. For a page: the sort values, the identity last. `after` tells which of them are null in the row
 * where the page starts; it is null for the first page. Otherwise: only the identity. With `isMany`, parameters are
 * columns of a row `asked` (many-runs.ts).
 */
export type RowMarks =
  | { readonly by: "place"; readonly after: readonly boolean[] | null }
  | { readonly by: "identity"; readonly isMany?: boolean };
