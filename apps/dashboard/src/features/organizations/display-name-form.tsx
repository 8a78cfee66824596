import type { Org } from "@appdb/contract/routes/control";
import { KEYS } from "../../api/queries.ts";
import { useAction } from "../../api/use-action.ts";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/field.tsx";
import { Form, fieldProblem } from "../../ui/form.tsx";

/** The organization's display name. Refused if someone else has changed it since it was loaded. */
export function DisplayNameForm({ org }: { readonly org: Org }) {
  const update = useAction(
    (api, displayName: string, options) =>
      api.control.call(
        "orgUpdate",
        { params: { org: org.name }, body: { display_name: displayName } },
        { ...options, if_match: org.etag },
      ),
    { changes: [KEYS.orgs] },
  );
  return (
    <Form error={update.error} onSubmit={(value) => update.run(value("display_name"))}>
      <div className="flex flex-wrap items-end gap-3">
        <div className="min-w-56 flex-1">
          <Field
            label="Shown name"
            name="display_name"
            defaultValue={org.display_name}
            maxLength={100}
            required
            problem={fieldProblem(update.error, "/display_name")}
          />
        </div>
        <Button type="submit" busy={update.pending} className="h-10">
          Save
        </Button>
      </div>
    </Form>
  );
}
