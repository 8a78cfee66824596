import { type ExactJson, ExactNumber, type ExactObject, isArray, isObject } from "@appdb/contract/clients/exact-json";
import type { FileCell } from "@appdb/contract/routes/data-api";
import { formatBytes } from "../../ui/format.ts";

export type FileKind = "image" | "video" | "audio" | "document";

/** A file that a page can show. */
export interface ShownFile extends FileCell {
  readonly kind: FileKind;
}

/** What a column of files holds, by its type. Undefined for any other column. */
export function fileKind(type: string): FileKind | undefined {
  const [name] = /^(?:Image|Video|Audio|Document)\b/.exec(type) ?? [];
  return name?.toLowerCase() as FileKind | undefined;
}

/** Reads a cell of a column of files: a description in a list of rows, an address in an inserted row. */
export function readFileCell(value: ExactJson | undefined, kind: FileKind): ShownFile | undefined {
  // the page's policy allows no element to load an address of another site
  if (typeof value === "string") return { kind: value.startsWith("/") ? kind : "document", address: value };
  if (!isObject(value) || typeof value.get("address") !== "string") return undefined;
  const [text, number] = [textOf(value), numberOf(value)];
  return {
    kind,
    address: text("address") ?? "",
    url: text("url"),
    uri: text("uri"),
    type: text("type"),
    mode: text("mode"),
    name: text("name"),
    bytes: number("bytes"),
    width: number("width"),
    height: number("height"),
  };
}

function textOf(cell: ExactObject) {
  return (member: string): string | undefined => {
    const value = cell.get(member);
    return typeof value === "string" ? value : undefined;
  };
}

function numberOf(cell: ExactObject) {
  return (member: string): number | undefined => {
    const value = cell.get(member);
    return value instanceof ExactNumber ? Number(value.text) : undefined;
  };
}

/** Whether an element of a page shows the type. HTML, SVG and documents are links. */
export function isPlayable({ kind, type }: ShownFile): boolean {
  if (kind === "document") return false;
  return type === undefined || (!type.includes("svg") && /^(?:image|video|audio)\//.test(type));
}

/** `640x480 RGB, image/png, 12 KiB`: what is known of it. */
export function fileFacts({ bytes, height, mode, type, width }: ShownFile): string {
  const size =
    width === undefined || height === undefined ? "" : [`${width}x${height}`, mode].filter(Boolean).join(" ");
  return [size, type, bytes === undefined ? undefined : formatBytes(bytes)].filter(Boolean).join(", ");
}

/** Its name for people. */
export function fileName({ address, kind, name, url }: ShownFile): string {
  if (name !== undefined) return name;
  const path = (url ?? address).split(/[?#]/, 1)[0] ?? "";
  const last = decodeName(path.slice(path.lastIndexOf("/") + 1));
  // the path of the control plane names no file
  return url === undefined && address.includes("?") ? kind : last || kind;
}

/** Its own address for copies, if it is stored elsewhere. */
export function fileAddress({ address, url }: ShownFile): string {
  return url ?? new URL(address, window.location.origin).href;
}

/** The element that shows a type; `document` for none. */
export function kindOfType(type: string): FileKind {
  const [, kind] = /^(image|video|audio)\//.exec(type) ?? [];
  return kind === undefined || type.includes("svg") ? "document" : (kind as FileKind);
}

/** A name in an address, or its text if that is malformed. */
export function decodeName(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const EXTENSIONS: Readonly<Record<Exclude<FileKind, "document">, RegExp>> = {
  image: /\.(?:png|jpe?g|gif|webp|avif|bmp|tiff?)$/i,
  video: /\.(?:mp4|m4v|webm|mkv|mov|avi)$/i,
  audio: /\.(?:mp3|wav|flac|ogg|opus|m4a|aac)$/i,
};
const MAX_FILES = 24;

/** The files of a service's JSON response: its addresses below `/_media/`, each once. */
export function filesInAnswer(answer: ExactJson, endpoint: string): readonly ShownFile[] {
  const found = new Map<string, ShownFile>();
  const search = (value: ExactJson): void => {
    if (found.size >= MAX_FILES) return;
    if (typeof value === "string" && value.startsWith(`${endpoint}/_media/`)) {
      const name = decodeName(value.slice(value.lastIndexOf("/") + 1));
      found.set(value, { kind: kindByName(name), address: value, name });
    } else if (isObject(value)) for (const member of value.values()) search(member);
    else if (isArray(value)) for (const item of value) search(item);
  };
  search(answer);
  return [...found.values()];
}

function kindByName(name: string): FileKind {
  const kinds = Object.keys(EXTENSIONS) as (keyof typeof EXTENSIONS)[];
  return kinds.find((kind) => EXTENSIONS[kind].test(name)) ?? "document";
}
