import {
  type ExactJson,
  ExactNumber,
  type ExactObject,
  isObject,
  printExact,
} from "@appdb/contract/clients/exact-json";
import type { DataColumn } from "@appdb/contract/routes/data-api";
import { showControls } from "./show-controls.ts";
import { formatBytes } from "./sizes.ts";

const FILE_TYPE = /^(?:Image|Video|Audio|Document)\b/;

/** A cell of a row for people: a text as it is, a file as `<Image 640x480 RGB>`, null as nothing, a failed cell as its
 *  error. `longest`: of its characters. */
export function cellText(row: ExactObject, { name, type }: DataColumn, longest: number): string {
  const failure = failureOf(row, name);
  const value = row.get(name) ?? null;
  if (value === null && failure !== undefined) return `<${shorten(failure, longest)}>`;
  const [kind] = FILE_TYPE.exec(type) ?? [];
  return shorten(showControls(kind === undefined ? plainText(value) : fileText(value, kind)), longest);
}

function plainText(value: ExactJson): string {
  if (value === null) return "";
  return typeof value === "string" ? value : printExact(value);
}

/** `<Image 640x480 RGB>`, `<Video video/mp4 1.2 MiB>`: what is known of a file. */
function fileText(value: ExactJson, kind: string): string {
  if (!isObject(value)) return plainText(value);
  const [width, height, mode, type, bytes] = ["width", "height", "mode", "type", "bytes"].map((key) => value.get(key));
  const facts =
    width instanceof ExactNumber && height instanceof ExactNumber
      ? [`${width.text}x${height.text}`, mode]
      : [type, bytes instanceof ExactNumber ? formatBytes(Number(bytes.text)) : undefined];
  return `<${[kind, ...facts].filter((fact) => typeof fact === "string").join(" ")}>`;
}

function failureOf(row: ExactObject, column: string): string | undefined {
  const errors = row.get("_errors");
  const failure = isObject(errors) ? errors.get(column) : undefined;
  if (failure === undefined || failure === null) return undefined;
  if (!isObject(failure)) return "pending";
  return showControls(
    [failure.get("type"), failure.get("message")].filter((part) => typeof part === "string").join(": "),
  );
}

function shorten(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest - 3)}...`;
}
