/** Prints a line for the user on stderr; stdout is for a script's result. */
export function say(line) {
  process.stderr.write(`${line}\n`);
}

/** Ends a script with a message and one next step. */
export class Stop extends Error {
  constructor(detail, hint) {
    super(detail);
    this.hint = hint;
  }
}

/** Runs a script's main function. A Stop prints two lines and sets exit status 1; any other error prints its stack. */
export async function main(work) {
  try {
    process.exitCode = (await work()) ?? 0;
  } catch (error) {
    if (!(error instanceof Stop)) throw error;
    say(`error: ${error.message}`);
    if (error.hint !== undefined) say(`hint: ${error.hint}`);
    process.exitCode = 1;
  }
}
