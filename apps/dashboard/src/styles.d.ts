/** Vite puts a style sheet beside the module that imports it; nothing is exported. */
declare module "*.css";
