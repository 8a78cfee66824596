import type { FileCell } from "@appdb/contract/routes/data-api";

/** What the client of a file's cell is given. */
export type DescribeFile = (cell: string) => FileCell;
