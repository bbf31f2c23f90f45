// Pays with the types that are generated from openapi.yaml: a session, a card, a payment, a capture, a refund, the history.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

declare const process: { argv: string[] };
const [url, key] = process.argv.slice(2) as [string, string];
const api = createClient<paths>({ baseUrl: url });
const backend = { "X-API-KEY": key, "X-API-VERSION": "2.4" } as const;

// sure is the body of an answer, which must be 200.
function sure<T>(what: string, answer: { data?: T; error?: unknown }): T {
  if (answer.data === undefined) throw new Error(`${what}: ${JSON.stringify(answer.error)}`);
  return answer.data;
}

function equal<T>(what: string, got: T, want: T): void {
  if (got !== want) throw new Error(`${what} is ${JSON.stringify(got)}, not ${JSON.stringify(want)}`);
}

const session = sure("a session", await api.POST("/client-session", {
  params: { header: { "X-API-VERSION": "2.4" } }, headers: backend,
  body: {
    orderId: "order-ts", currencyCode: "EUR", order: { lineItems: [{ amount: 2500, quantity: 1 }] },
    paymentMethod: { options: { wallet: ["x", 1, null] }, orderedAllowedCardNetworks: ["VISA"] },
  },
}));
const card = sure("a card", await api.POST("/payment-instruments", {
  headers: { "X-Client-Token": session.clientToken },
  body: { paymentInstrument: { number: "4111111111111111", cvv: "737", expirationMonth: "03", expirationYear: "2099" } },
}));
const made: components["schemas"]["Payment"] = sure("a payment", await api.POST("/payments", {
  params: { header: { "X-API-VERSION": "2.4" } }, headers: backend, body: { paymentMethodToken: card.token },
}));
equal("the payment's status", made.status, "AUTHORIZED");
const here = { header: { "X-API-VERSION": "2.4" }, path: { id: made.id } } as const;
const captured = sure("a capture", await api.POST("/payments/{id}/capture", { params: here, headers: backend, body: {} }));
equal("the captured payment's status", captured.status, "SETTLED");
const refunded = sure("a refund", await api.POST("/payments/{id}/refund", { params: here, headers: backend, body: { amount: 400 } }));
equal("what was refunded", refunded.processor?.amountRefunded, 400);
const history = sure("a history", await api.GET("/payments/{id}/events", { params: here, headers: backend }));
const settled = history.data.flatMap((event) => event.changed).find((change) => change.path === "$.status" && change.to === "SETTLED");
equal("what settled came from", settled?.from, "AUTHORIZED");
console.log(made.id);
