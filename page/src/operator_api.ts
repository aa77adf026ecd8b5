// The operator's listener: GET ledger and ledger/verify. Documented in docs/operating.md. Reads
// tolerantly: a field that a server does not have is shown as unknown, not as an error.
import { HttpError, errorOfResponse, isObject } from "./http_error";

export interface Part {
  name: string;
  budget: number; // nats
  spent: number; // nats
  sureAnswers: number | null; // tokens that it can back in the worst case
}

export type Chain = { state: "unchecked" | "whole" } | { state: "broken"; message: string };

export interface Ledger {
  mechanism: string;
  order: string;
  unit: string;
  lineage: string;
  parts: Part[];
  records: number;
  head: string;
  chain: Chain;
  promise: Promised | null;
}

// What one user is promised, and a table of what must be said with every number.
export interface Promised {
  sentence: string;
  columns: string[]; // whom each protects: "user", "part"
  rows: { label: string; cells: string[] }[];
}

export async function readLedger(key: string, verify: boolean): Promise<Ledger> {
  const response = await fetch(verify ? "ledger/verify" : "ledger", {
    headers: { Authorization: `Bearer ${key}` },
    cache: "no-store",
  });
  if (!response.ok) throw await errorOfResponse(response);
  const body: unknown = await response.json();
  if (!isObject(body) || !Array.isArray(body["parts"])) {
    throw new HttpError(response.status, "The answer is not a ledger.");
  }
  return {
    mechanism: text(body["mechanism"]),
    order: text(body["order"]),
    unit: text(body["unit"]),
    lineage: text(body["lineage"]),
    parts: body["parts"].filter(isObject).map(partOf),
    records: amount(body["records"]) ?? 0,
    head: text(body["head"]),
    chain: chainOf(body["chain"]),
    promise: promiseOf(body["promise"]),
  };
}

function partOf(part: Record<string, unknown>): Part {
  return {
    name: text(part["name"]),
    budget: amount(part["budget"]) ?? 0,
    spent: amount(part["spent"]) ?? 0,
    sureAnswers: amount(part["sure_answers"]),
  };
}

function promiseOf(promise: unknown): Promised | null {
  if (!isObject(promise)) return null;
  const rows = Array.isArray(promise["table"]) ? promise["table"].filter(isObject) : [];
  const columns = Object.keys(rows[0] ?? {}).filter((name) => name !== "label");
  return {
    sentence: text(promise["sentence"]),
    columns,
    rows: rows.map((row) => ({ label: text(row["label"]), cells: columns.map((name) => text(row[name])) })),
  };
}

function chainOf(chain: unknown): Chain {
  if (typeof chain !== "string" || chain === "") return { state: "unchecked" };
  return chain === "whole" ? { state: "whole" } : { state: "broken", message: chain };
}

function text(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

function amount(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}
