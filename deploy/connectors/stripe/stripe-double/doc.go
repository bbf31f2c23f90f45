// Command stripe-double serves package double: Stripe for a demonstration and for tests, on a
// loopback address. It moves no money.
//
//	stripe-double [--listen 127.0.0.1:0] [--events URL] [--webhook-secret whsec_double]
//
// It prints one ready line on stdout: {"ready":true,"api":"http://…","pid":…}. Events go to URL,
// which POST /double/events {"url":"…"} can name later. A customer's check is the page of
// next_action.redirect_to_url: a visit passes it, with ?fail=1 it fails, and the page sends the
// customer to return_url. More for tests:
//
//	POST /double/faults      {"mode","path"?,"method"?}: a fault for the next request that matches
//	POST /double/flush       late requests arrive
//	POST /double/settle      pending refunds end
//	POST /double/disputes    {"id","status","evidence"?,"late"?}: a dispute goes on
//	GET  /double/books       what was moved, by payment
//
// An event that is not taken with 2xx is sent again, once a second.
package main
