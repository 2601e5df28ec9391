/** Base64 of the gzip of a file; single.config.ts makes it. */
declare module "*?packed" {
  const packed: string;
  export default packed;
}
