import { type Argument, constant, type Forms, type SqlTemplate } from "./form.ts";

const unary = (build: (sql: string) => string): SqlTemplate => {
  return ({ args: [a], kwargs }) => (Object.keys(kwargs).length === 0 ? build(a?.sql ?? "") : undefined);
};

const bitwise =
  (sign: string): SqlTemplate =>
  ({ args: [a, b] }) =>
    `(${a?.sql} ${sign} ${b?.sql})`;

/** Python converts to int in between, which has no negative zero. */
const withoutNegativeZero = (sql: string) => `(${sql} + '0'::float8)`;

const isNothing = (argument: Argument | undefined) => argument === undefined || constant(argument) === null;

/** Half to even, as in Python. With a number of digits Python rounds the decimal number, which SQL does not. */
const round: SqlTemplate = ({ args: [a], kwargs: { digits } }) =>
  isNothing(digits) ? withoutNegativeZero(`round(${a?.sql})`) : undefined;

/**
 * Functions of numbers. Those that depend on the C library (`exp`, `log`, `pow`) have no form, because PostgreSQL and
 * Python may use different ones.
 */
export const MATH_FORMS: Forms = {
  "math.abs": { float: unary((a) => `abs(${a})`) },
  "math.ceil": { float: unary((a) => withoutNegativeZero(`ceil(${a})`)) },
  "math.floor": { float: unary((a) => withoutNegativeZero(`floor(${a})`)) },
  "math.round": { float: round },
  "math.sqrt": { float: unary((a) => `sqrt(${a})`) },
  "math.to_int": { float: unary((a) => `trunc(${a})::int8`) },
  "math.to_float": { int: unary((a) => `${a}::float8`) },
  "math.bitwise_and": { "int,int": bitwise("&") },
  "math.bitwise_or": { "int,int": bitwise("|") },
  "math.bitwise_xor": { "int,int": bitwise("#") },
};
