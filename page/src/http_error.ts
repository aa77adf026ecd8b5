// What went wrong, in a sentence for the person at the page.

export class HttpError extends Error {
  constructor(
    readonly status: number, // 0: no HTTP status, the error came within a stream
    message: string,
    readonly param: string = "",
  ) {
    super(message);
    this.name = "HttpError";
  }
}

// Reads OpenAI's {"error": {"message", "param"}}; whatever else comes is described by its status.
export function errorOf(status: number, body: unknown): HttpError {
  const error = isObject(body) && isObject(body["error"]) ? body["error"] : {};
  const message = typeof error["message"] === "string" ? error["message"] : `HTTP status ${status}`;
  return new HttpError(status, message, typeof error["param"] === "string" ? error["param"] : "");
}

export async function errorOfResponse(response: Response): Promise<HttpError> {
  const body: unknown = await response.json().catch(() => null);
  return errorOf(response.status, body);
}

export function describe(error: unknown): string {
  if (error instanceof HttpError) {
    const place = error.param === "" ? "" : ` (field: ${error.param})`;
    if (error.status === 401) return `The key is missing or wrong. ${error.message}`;
    if (error.status === 0) return `The stream broke off. ${error.message}`;
    return `${error.message}${place}`;
  }
  if (error instanceof TypeError) return "The server cannot be reached. Is it running?";
  return error instanceof Error ? error.message : String(error);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
