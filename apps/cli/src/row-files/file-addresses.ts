import { type ExactJson, type ExactObject, isObject } from "@appdb/contract/clients/exact-json";
import { exportedAddress } from "@appdb/contract/media";
import type { DataColumn } from "@appdb/contract/routes/data-api";

const MEDIA = /^(?:Image|Video|Audio|Document)\b/;

/** Whether cells of a column are files, also computed ones. */
export function hasFiles({ type }: Pick<DataColumn, "type">): boolean {
  return MEDIA.test(type);
}

/** The same row, with addresses that `cli insert` takes in place of its files' descriptions. */
export function withAddresses(row: ExactObject, columns: readonly DataColumn[]): ExactObject {
  const files = columns.filter(hasFiles);
  if (files.length === 0) return row;
  return new Map([...row, ...files.map(({ name }) => [name, addressOf(row.get(name) ?? null)] as const)]);
}

function addressOf(cell: ExactJson): ExactJson {
  if (!isObject(cell)) return cell;
  const textOf = (member: string) => (cell.has(member) ? String(cell.get(member)) : undefined);
  return exportedAddress({ url: textOf("url"), uri: textOf("uri"), address: textOf("address") ?? "" });
}
