// Command stripe-double is Stripe for a demonstration and for tests, on a loopback address: it
// serves package double, and moves no money.
//
//	stripe-double --data DIR [--listen 127.0.0.1:0] [--api-listen 127.0.0.1:0]
//	stripe-double alone [--listen 127.0.0.1:0] [--events URL] [--webhook-secret whsec_double]
//
// The first form is the connector with Stripe behind it, in one process: payledger demo
// --processor stripe-double plays a story at it. DIR is for the connector's book; the ready line
// and the two secrets are those of package processorsim/connector/program. Stripe itself is in
// memory: at the end it forgets what the book keeps.
//
// The second form is Stripe alone, for a connector with --api-base. It prints one ready line on
// stdout: {"ready":true,"api":"http://…","pid":…}. Events go to URL, which POST /double/events
// {"url":"…"} can name later.
//
// A customer's check is the page of next_action.redirect_to_url: a visit passes it, with ?fail=1 it
// fails, and the page sends the customer to return_url. More for tests, at Stripe's address:
//
//	POST /double/faults      {"mode","path"?,"method"?}: a fault for the next request that matches
//	POST /double/flush       late requests arrive
//	POST /double/settle      pending refunds end
//	POST /double/disputes    {"id","status","evidence"?,"late"?}: a dispute goes on
//	GET  /double/books       what was moved, by payment
//
// An event that is not taken with 2xx is sent again, once a second.
package main
