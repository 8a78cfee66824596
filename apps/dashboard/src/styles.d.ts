/** Vite extracts imported style sheets; they export nothing. */
declare module "*.css";
