import { type ReactNode, useId } from "react";

/** A choice among a few visible options. */
export function RadioGroup({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <fieldset className="grid gap-2">
      <legend className="mb-1.5 text-sm font-medium">{title}</legend>
      {children}
    </fieldset>
  );
}

interface RadioProps {
  readonly name: string;
  readonly title: string;
  readonly help: string;
  readonly checked: boolean;
  readonly onChoose: () => void;
}

export function Radio({ name, title, help, checked, onChoose }: RadioProps) {
  const id = useId();
  return (
    <div className="flex gap-2.5 rounded-md border border-line px-3.5 py-2.5 has-checked:border-accent has-checked:bg-accent-soft">
      <input
        id={id}
        type="radio"
        name={name}
        checked={checked}
        onChange={onChoose}
        aria-describedby={`${id}-help`}
        className="mt-1 size-4 shrink-0 accent-accent"
      />
      <div className="grid flex-1 text-sm">
        <label htmlFor={id} className="font-medium">
          {title}
        </label>
        <p id={`${id}-help`} className="text-muted">
          {help}
        </p>
      </div>
    </div>
  );
}
