import { raiseWhere } from "../sql/raise-where.ts";
import type { Forms, SqlTemplate } from "./form.ts";

/** What references know of their images, once the files were decoded (contract, media.ts). Other files go to Python. */
export const MEDIA_FORMS: Forms = {
  "image.width": { image: member("width", "int8") },
  "image.height": { image: member("height", "int8") },
  "image.mode": { image: member("mode", "text") },
};

function member(name: string, type: string): SqlTemplate {
  return ({ args: [image] }) => {
    const cell = image?.sql ?? "NULL";
    const known = `(${cell}::json ->> '${name}')`;
    return raiseWhere(`(${cell} IS NOT NULL AND ${known} IS NULL)`, `length(${cell})`, type, `${known}::${type}`);
  };
}
