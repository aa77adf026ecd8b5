// What the operator wants to know of a ledger, computed from one or two readings of it.
import type { Ledger, Part } from "./operator_api";

export interface Reading {
  ledger: Ledger;
  at: number; // milliseconds of a steady clock
}

export function share(part: Part): number {
  return part.budget > 0 ? Math.min(part.spent / part.budget, 1) : 1;
}

// Least and most over the parts; null if a part does not say.
export function answersLeft(parts: Part[]): { least: number; most: number } | null {
  const left = parts.map((part) => part.sureAnswers);
  if (left.length === 0 || left.includes(null)) return null;
  const known = left.map((value) => value ?? 0);
  return { least: Math.min(...known), most: Math.max(...known) };
}

// Parts that cannot back another token in the worst case.
export function spentParts(parts: Part[]): number {
  return parts.filter((part) => part.sureAnswers === 0).length;
}

export interface Rate {
  recordsPerMinute: number;
  // Until the first part is spent if all goes on like this; null if nothing is being spent.
  secondsLeft: number | null;
}

// Between two readings; null if too little time has passed to say.
export function rateBetween(first: Reading, last: Reading): Rate | null {
  const seconds = (last.at - first.at) / 1000;
  if (!(seconds >= 1)) return null;
  let secondsLeft: number | null = null;
  last.ledger.parts.forEach((part, index) => {
    const spentSince = part.spent - (first.ledger.parts[index]?.spent ?? part.spent);
    if (!(spentSince > 0)) return;
    const lasts = ((part.budget - part.spent) * seconds) / spentSince;
    secondsLeft = Math.min(secondsLeft ?? Infinity, lasts);
  });
  const records = last.ledger.records - first.ledger.records;
  return { recordsPerMinute: (60 * records) / seconds, secondsLeft };
}

// Nats, with the digits that matter beside `budget`, never shown as less than they are.
export function nats(value: number, budget: number): string {
  const digits = budget >= 100 ? 1 : budget >= 1 ? 3 : 5;
  return (Math.ceil(value * 10 ** digits - 1e-7) / 10 ** digits).toFixed(digits);
}

export function duration(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 48 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400).toLocaleString("en")} days`;
}
