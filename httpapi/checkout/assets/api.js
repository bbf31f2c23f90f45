// The checkout calls, as anybody may make them.

// Refusal is an answer that says no.
export class Refusal extends Error {
  constructor(status, error) {
    super(error.errorId ?? `status ${status}`);
    this.status = status;
    this.id = error.errorId ?? "";
    this.paymentId = error.paymentId;
    this.violations = (error.validationErrors ?? []).flatMap((group) => group.errors);
  }
}

// Unknown means that no answer came, or none that tells what happened: asking again is safe, guessing is not.
export class Unknown extends Error {}

// A payment is answered within the payment timeout of the service; a connection that says nothing for longer is dead.
const patience = 120_000;

// toResume is what a tab keeps of a completed action: nothing if the action had ended already, and the payment tells.
export const toResume = ({ resumeToken, payment }) => ({ resumeToken: payment ? undefined : resumeToken });

// Client makes calls with a client token.
export class Client {
  constructor(clientToken) {
    this.clientToken = clientToken;
  }

  async call(method, path, body, more) {
    const headers = { "X-Client-Token": this.clientToken, ...more };
    if (body) headers["Content-Type"] = "application/json";
    let answer, result;
    try {
      answer = await fetch(path, {
        method, headers, body: body && JSON.stringify(body), cache: "no-store", credentials: "omit",
        redirect: "error", signal: AbortSignal.timeout(patience),
      });
      result = await answer.json();
    } catch (cause) {
      throw new Unknown("no answer", { cause });
    }
    if (answer.ok && !result.error) return result;
    const error = result.error ?? {};
    const again = answer.status >= 500 || answer.status === 429 || error.errorId === "ConcurrentModification";
    throw again ? new Unknown(error.errorId) : new Refusal(answer.status, error);
  }

  tokenize(paymentInstrument) { return this.call("POST", "/payment-instruments", { paymentInstrument }); }

  // pay sent again under its key is refused with the id of the payment that it made before (D9). seen, { amount,
  // currencyCode }, is what the customer agreed to: nothing else is charged (D12).
  pay(paymentMethodToken, key, seen) {
    return this.call("POST", "/checkout/payments", { paymentMethodToken, ...seen }, { "X-Idempotency-Key": key });
  }

  payment(id) { return this.call("GET", `/checkout/payments/${encodeURIComponent(id)}`); }
  resume(id, resumeToken) { return this.call("POST", `/checkout/payments/${encodeURIComponent(id)}/resume`, { resumeToken }); }
  attempt(paymentMethodToken, seen) { return this.call("POST", "/payment-attempts", { paymentMethodToken, ...seen }); }
  attemptState(id) { return this.call("GET", `/payment-attempts/${encodeURIComponent(id)}`); }
  // complete says with an action's token how its check ended, which counts in the sandbox alone.
  complete(outcome) { return this.call("POST", "/required-actions/complete", { outcome }); }
}
