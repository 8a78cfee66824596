import type { Expr } from "@appdb/contract/expressions";
import type { ColumnType } from "@appdb/contract/types";
import type { FoldArgument, GraphFunction } from "@appdb/contract/worker-protocol";
import type { BoundQuery } from "../catalog/bind-query.ts";
import type { CatalogFunction, CatalogTable } from "../catalog/catalog.ts";
import type { Placeholder } from "../kinds/parameter-list.ts";
import type { UdfGraph } from "../ports.ts";
import type { VectorPlan } from "./ask-vectors.ts";
import type { PythonReason } from "./python-reasons.ts";
import type { SqlMode } from "./relation.ts";

/** A statement with what its places are filled with. The same text has the same name: a connection prepares it once. */
export interface PlannedStatement {
  readonly text: string;
  readonly name: string;
  readonly places: readonly Placeholder[];
}

export interface NamedType {
  readonly name: string;
  readonly type: ColumnType;
}

/** What the clauses of a query are while it is planned; they shrink from stage to stage. */
export interface Clauses {
  readonly where: readonly Expr[];
  readonly group_by: readonly Expr[];
  readonly select: readonly { readonly name: string; readonly expr: Expr }[];
  readonly order_by: readonly { readonly expr: Expr; readonly asc: boolean }[];
}

/** Rows that are read and kept, with what Python computes of each: the next stage reads them in place of tables. */
export interface MaterialStage {
  readonly statement: PlannedStatement;
  /** What the statement gives, in order. */
  readonly columns: readonly NamedType[];
  readonly graph: UdfGraph | null;
  /** Steps that are conditions; the rest are values for the next stage, after `columns`. */
  readonly conditions: number;
  /** Rows come in the final order, so that no more are needed than the query's limit and offset ask for. */
  readonly is_ordered: boolean;
}

/** Groups with aggregates of the application: the next stage reads them in place of tables. */
export interface FoldStage {
  /** Keys, then our own aggregates, in the order of the keys; null when there is neither: all rows are one group. */
  readonly groups: PlannedStatement | null;
  /** What `groups` gives. */
  readonly columns: readonly NamedType[];
  /** What people call the keys, which are the first columns. */
  readonly keys: readonly string[];
  /** Rows in their order: the place of the group among `groups`, then the arguments. */
  readonly rows: PlannedStatement;
  readonly arguments: readonly NamedType[];
  readonly folds: readonly PlannedFold[];
  /** Tables that the statements read; empty when they read what an earlier stage kept. */
  readonly tables: readonly CatalogTable[];
}

/** An aggregate of the application; its values come behind the columns of `groups`. */
export interface PlannedFold extends NamedType {
  readonly function: GraphFunction;
  /** `at`: place among the stage's arguments. */
  readonly args: readonly (FoldArgument & { readonly at: number })[];
  /** Expressions of literals and parameters. */
  readonly constants: Readonly<Record<string, Expr>>;
  /** What is selected of it, or the clause that reads it. */
  readonly output: string;
}

export interface QueryOutput extends NamedType {
  readonly nullable: boolean;
  /** Place in the statement's rows, or the step of the graph that computes it. */
  readonly from: { readonly sql: number } | { readonly step: number };
}

export interface FinalStage {
  readonly statement: PlannedStatement;
  /** The same answer without the index that finds the nearest rows: a filter may leave too few of those that it finds.
   *  Null when no such index is asked. */
  readonly exact: PlannedStatement | null;
  /** Flat names of the statement's columns behind the outputs, which the graph reads. */
  readonly columns: readonly NamedType[];
  readonly outputs: readonly QueryOutput[];
  readonly graph: UdfGraph | null;
  /** Columns behind all others that tell a row's place or identity, when the plan was asked for them. */
  readonly marks: number;
}

/** How a query is answered: rows are read and kept stage by stage, and the last statement gives the answer's rows. */
export interface QueryPlan {
  readonly bound: BoundQuery;
  readonly vectors: VectorPlan;
  readonly materials: readonly (MaterialStage | FoldStage)[];
  readonly final: FinalStage;
  /** What Python computes, and why; empty when one statement is all. */
  readonly reasons: readonly PythonReason[];
}

export interface PlanOptions {
  readonly functions: ReadonlyMap<string, CatalogFunction>;
  /** `bare` leaves every computation to Python, for rows of which SQL refused a value. */
  readonly mode: SqlMode;
  /** The answer may have this many rows; one more is asked for, to see that there are more. */
  readonly most_rows: number;
  /** Rows come with values that mark them; without it they come bare. */
  readonly marked?: RowMarks | undefined;
}

/**
 * What marks a row. Of a page: the values that rows are sorted by, its identity last; `after` says which of them are null
 * in the row that the page begins behind, and is null for the first page. Else its identity alone; with `many` parameters
 * are columns of a row `asked` (many-runs.ts).
 */
export type RowMarks =
  | { readonly by: "place"; readonly after: readonly boolean[] | null }
  | { readonly by: "identity"; readonly many?: boolean };
