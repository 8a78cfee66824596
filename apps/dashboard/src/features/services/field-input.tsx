import { Field, Select, TextArea } from "../../ui/field.tsx";
import { fieldKey } from "./build-call.ts";
import type { RouteField } from "./route-form.ts";

interface FieldInputProps {
  readonly field: RouteField;
  readonly value: string;
  readonly problem: string | undefined;
  readonly onChange: (value: string) => void;
  readonly onFile: (file: File | undefined) => void;
}

const PLACES = { path: "in the path", query: "in the address", header: "a header", body: "" } as const;

/** The input of one value. Invalid values are accepted, because the service explains them better. */
export function FieldInput({ field, value, problem, onChange, onFile }: FieldInputProps) {
  const { choices, is_nullable: isNullable, is_required: isRequired, kind, name, place } = field;
  const notes = [PLACES[place], field.help, isRequired ? "" : "optional", isNullable ? "may be null" : ""];
  const shared = {
    label: name,
    name: fieldKey(field),
    value,
    problem,
    help: notes.filter((part) => part !== "").join(", "),
  };
  if (kind === "file") {
    const { value: _value, ...described } = shared;
    return (
      <Field
        {...described}
        type="file"
        className="read-only:bg-surface! py-1.5 pl-1.5 text-sm file:mr-3 file:h-6.5 file:rounded file:border-0 file:bg-sunken file:px-2.5 file:font-medium file:text-ink"
        onChange={(event) => onFile(event.target.files?.[0])}
      />
    );
  }
  if (kind === "boolean" || kind === "choice") {
    return (
      <Select {...shared} onChange={(event) => onChange(event.target.value)}>
        <option value="">{isRequired && isNullable ? "null" : "not given"}</option>
        {(kind === "boolean" ? ["true", "false"] : choices).map((choice) => (
          <option key={choice}>{choice}</option>
        ))}
      </Select>
    );
  }
  const written = { ...shared, autoComplete: "off", autoCapitalize: "none", spellCheck: false } as const;
  if (kind === "json") {
    return (
      <TextArea
        {...written}
        rows={3}
        className="font-mono text-sm"
        onChange={(event) => onChange(event.target.value)}
        help={[shared.help, "as JSON"].filter((part) => part !== "").join(", ")}
      />
    );
  }
  return (
    <Field
      {...written}
      inputMode={kind === "number" ? "decimal" : undefined}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
