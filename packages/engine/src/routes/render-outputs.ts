import type { ManifestAnswerer } from "@appdb/contract/manifest";
import type { EngineValue } from "@appdb/contract/types";
import { answerSlot } from "../compute/answer-graph.ts";
import { type CellErrors, ERRORS_INPUT } from "../compute/cell-errors.ts";
import type { Row, RowLayout } from "../compute/row-layout.ts";
import { placeholderText, type ResponseTemplate } from "../idempotency/response-template.ts";
import type { Kind } from "../kinds/kind.ts";
import { kindOf } from "../kinds/kinds.ts";

interface Output {
  /** `{"id":` or `,"title":`, built once. */
  readonly lead: string;
  readonly toJson: Kind["toJson"];
  /** The type as JSON. */
  readonly type_text: string;
  readonly at: number;
}

export interface AnswerWriter {
  text(row: Row): string;
  /** The same with placeholders for values in the slots `unknown`. */
  template(row: Row, unknown: readonly number[]): ResponseTemplate;
}

/** Compiles the writer of a route's response: the result of its function, or the row's outputs. */
export function compileAnswer(
  layout: RowLayout,
  route: {
    readonly outputs: readonly string[];
    readonly handler: ManifestAnswerer | null;
    readonly of_view?: { readonly names: Readonly<Record<string, string>> } | undefined;
  },
): AnswerWriter {
  if (route.handler === null) return compileOutputs(layout, route.outputs, route.of_view?.names);
  const at = answerSlot(layout);
  const text = (row: Row): string => String(row[at] ?? null);
  return { text, template: (row) => ({ text: text(row), placeholders: null }) };
}

/** Compiles the writer of an object of exactly `outputs`, in order. */
function compileOutputs(
  layout: RowLayout,
  outputs: readonly string[],
  names: Readonly<Record<string, string>> = {},
): AnswerWriter {
  if (outputs.length === 0) return { text: () => "{}", template: () => ({ text: "{}", placeholders: null }) };
  const compiled = outputs.map((name, index): Output => {
    const at = layout.index.get(name) ?? -1;
    const slot = layout.slots[at];
    if (slot === undefined) throw new TypeError(`${layout.table.name} has no column ${name}`);
    return {
      lead: `${index === 0 ? "{" : ","}${JSON.stringify(names[name] ?? name)}:`,
      toJson: kindOf(slot.type).toJson,
      type_text: JSON.stringify(slot.type),
      at,
    };
  });
  return {
    text(row) {
      let text = "";
      for (const { lead, toJson, at } of compiled) text += lead + jsonOf(toJson, row[at] ?? null);
      return `${text}}`;
    },
    template(row, unknown) {
      let text = "";
      let placeholders = "";
      for (const { lead, toJson, type_text: typeText, at } of compiled) {
        text += lead;
        const of = unknown.indexOf(at);
        if (of < 0) text += jsonOf(toJson, row[at] ?? null);
        else placeholders += (placeholders === "" ? "[" : ",") + placeholderText(text.length, of, typeText);
      }
      return { text: `${text}}`, placeholders: placeholders === "" ? null : `${placeholders}]` };
    },
  };
}

/** The object with the errors of its failed cells, as a last member that no column can be named like. */
export function withCellErrors(object: string, errors: CellErrors | null): string {
  if (errors === null) return object;
  return `${object.slice(0, -1)}${object === "{}" ? "" : ","}${JSON.stringify(ERRORS_INPUT)}:${JSON.stringify(errors)}}`;
}

function jsonOf(toJson: Kind["toJson"], value: EngineValue): string {
  return value === null ? "null" : toJson(value);
}
