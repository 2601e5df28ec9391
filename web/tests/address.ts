/** Where the tests serve the lab. Another port lets two clones test at the same time. */
export const HOST = `127.0.0.1:${process.env["LAB_PORT"] ?? "4173"}`;
