package payment_test

import "strings"

// situation is a state of a payment, with the commands that lead to it.
type situation struct{ name, path string }

// created creates the payment: an ESTIMATED authorization with a route of two processors.
const created = "create estimated key=key-1 amount=1250 currency=EUR order=order-1 to=ADYEN,STRIPE"

// The commands with which most situations begin.
const (
	acting    = created + "; answer 1 ACTION_REQUIRED transaction=t-1"
	approved  = created + "; answer 1 SUCCEEDED transaction=t-1"
	part      = approved + "; capture amount=500 final=false; answer 3 SUCCEEDED transaction=t-3"
	all       = approved + "; capture; answer 3 SUCCEEDED transaction=t-3"
	partWaits = approved + "; capture amount=500 final=false; answer 3 PENDING transaction=t-3"
	allWaits  = approved + "; capture; answer 3 PENDING transaction=t-3"
)

// situations lists all situations by group.
var situations = []struct {
	title string
	rows  []situation
}{
	{"Before a result", []situation{
		{"no payment", ""},
		{"authorization requested", created},
		{"authorization timed out", created + "; timeout 1"},
		{"authorization pending", created + "; answer 1 PENDING transaction=t-1"},
		{"requested from the second processor", created + "; answer 1 FAILED retryable code=error"},
	}},
	{"The customer's action", []situation{
		{"action required", acting},
		{"completion requested", acting + "; resume 1 AUTHENTICATED"},
		{"completion timed out", acting + "; resume 1 AUTHENTICATED; timeout 3"},
		{"completion pending", acting + "; resume 1 AUTHENTICATED; answer 3 PENDING"},
		{"completion failed", acting + "; resume 1 AUTHENTICATED; answer 3 FAILED retryable code=error"},
	}},
	{"Cancelled before a result", []situation{
		{"intended, authorization requested", created + "; cancel"},
		{"intended, authorization timed out", created + "; timeout 1; cancel"},
		{"intended, completion requested", acting + "; resume 1 AUTHENTICATED; cancel"},
		{"void requested, authorization pending", created + "; answer 1 PENDING transaction=t-1; cancel"},
		{"void requested, action required", acting + "; cancel"},
		{"void requested, completion pending", acting + "; resume 1 AUTHENTICATED; answer 3 PENDING; cancel"},
	}},
	{"Authorized", []situation{
		{"authorized", approved},
		{"authorized, FINAL", strings.Replace(approved, " estimated", "", 1)},
		{"authorized, amount 0", strings.Replace(approved, "amount=1250", "amount=0", 1)},
		{"adjustment requested", approved + "; adjust amount=2000"},
		{"adjustment pending", approved + "; adjust amount=2000; answer 3 PENDING"},
	}},
	{"Authorized, with a further operation", []situation{
		{"capture requested", approved + "; capture"},
		{"capture timed out", approved + "; capture; timeout 3"},
		{"void requested", approved + "; cancel"},
		{"void timed out", approved + "; cancel; timeout 3"},
		{"void pending", approved + "; cancel; answer 3 PENDING"},
		{"void failed", approved + "; cancel; answer 3 FAILED code=error"},
		{"capture failed, fenced", approved + "; capture; answer 3 FAILED code=fenced"},
	}},
	{"Settling", []situation{
		{"all pending", allWaits},
		{"a part pending", partWaits},
		{"a part confirmed, the rest pending", part + "; capture; answer 5 PENDING transaction=t-5"},
		{"a part pending, void requested", partWaits + "; cancel"},
		{"a part pending, the rest released", partWaits + "; cancel; answer 5 SUCCEEDED"},
	}},
	{"Partially settled", []situation{
		{"a part confirmed", part},
		{"the rest requested", part + "; capture"},
		{"void requested", part + "; cancel"},
		{"refund pending", part + "; refund amount=100; answer 5 PENDING transaction=t-5"},
		{"all of the part refunded", part + "; refund; answer 5 SUCCEEDED transaction=t-5"},
	}},
	{"Settled", []situation{
		{"all captured", all},
		{"a part captured, the rest released", part + "; cancel; answer 5 SUCCEEDED"},
		{"void requested", all + "; cancel"},
		{"refund requested", all + "; refund amount=500"},
		{"refund pending", all + "; refund amount=500; answer 5 PENDING transaction=t-5"},
		{"all refunded", all + "; refund; answer 5 SUCCEEDED transaction=t-5"},
	}},
	{"Out of band at the processor", []situation{
		{"all captured there", approved + "; outOfBand capture id=op-1 amount=1250 transaction=t-9"},
		{"a part captured there", approved + "; outOfBand capture id=op-1 amount=500 transaction=t-9"},
		{"a part captured there, our capture requested", approved + "; capture; outOfBand capture id=op-1 amount=500 transaction=t-9"},
		{"voided there", approved + "; outOfBand void id=op-1 amount=1250"},
		{"voided there, our void requested", approved + "; cancel; outOfBand void id=op-1 amount=1250"},
		{"captured here, refunded there", all + "; outOfBand refund id=op-1 amount=1250 transaction=t-9"},
		{"captured here, refunded there, our refund requested", all + "; refund; outOfBand refund id=op-1 amount=1250 transaction=t-9"},
		{"another total there", approved + "; outOfBand adjust id=op-1 amount=2000"},
	}},
	{"Final", []situation{
		{"declined", created + "; answer 1 DECLINED code=05"},
		{"failed", created + "; answer 1 FAILED code=error"},
		{"failed, fenced", created + "; answer 1 FAILED code=fenced"},
		{"cancelled", approved + "; cancel; answer 3 SUCCEEDED"},
		{"cancelled before a result", acting + "; cancel; answer 3 SUCCEEDED"},
		{"100 operations failed", approved + strings.Repeat("; capture amount=2000", 100)},
	}},
}

// commands lists all commands and answers. "authorization" means the revision of the newest
// authorize operation, "operation" the revision of the newest other operation.
var commands = []struct{ name, command string }{
	{"create, with the key again", created},
	{"create, without a key", strings.Replace(created, "key=key-1 ", "", 1)},
	{"resume", "resume authorization AUTHENTICATED"},
	{"resume, another action's token", "resume 99 AUTHENTICATED"},
	{"expiry of the action", "expire authorization clock=2026-03-03T00:00:00"},
	{"cancel", "cancel"},
	{"capture: all, final", "capture"},
	{"capture: 1, final", "capture amount=1"},
	{"capture: 1, not final", "capture amount=1 final=false"},
	{"capture: too much", "capture amount=9999"},
	{"refund: all", "refund"},
	{"refund: 1", "refund amount=1"},
	{"refund: too much", "refund amount=9999"},
	{"refund: 1 of the first capture", "refund amount=1 capture=event-4"},
	{"refund: of no capture", "refund amount=1 capture=event-99"},
	{"adjust: more", "adjust amount=3000"},
	{"adjust: the same, without a key", "adjust amount=1250"},
	{"adjust: the same, with a key", "adjust amount=1250 key=key-9"},
	{"any, with a used key", "capture key=key-1"},
	{"authorization: SUCCEEDED", "answer authorization SUCCEEDED"},
	{"authorization: soft decline", "answer authorization DECLINED code=05"},
	{"authorization: soft decline, retryable", "answer authorization DECLINED retryable code=05"},
	{"authorization: hard decline, retryable", "answer authorization DECLINED retryable code=41"},
	{"authorization: FAILED", "answer authorization FAILED code=error"},
	{"authorization: FAILED, retryable", "answer authorization FAILED retryable code=error"},
	{"authorization: PENDING", "answer authorization PENDING"},
	{"authorization: ACTION_REQUIRED", "answer authorization ACTION_REQUIRED"},
	{"authorization: not understood", "answer authorization UNHEARD_OF"},
	{"authorization: time-out", "timeout authorization"},
	{"operation: SUCCEEDED", "answer operation SUCCEEDED"},
	{"operation: DECLINED", "answer operation DECLINED code=05"},
	{"operation: FAILED", "answer operation FAILED code=error"},
	{"operation: FAILED, retryable", "answer operation FAILED retryable code=error"},
	{"operation: FAILED, fenced", "answer operation FAILED code=fenced"},
	{"operation: PENDING", "answer operation PENDING"},
	{"operation: ACTION_REQUIRED", "answer operation ACTION_REQUIRED"},
	{"operation: time-out", "timeout operation"},
	{"an answer to no operation", "answer 999 SUCCEEDED"},
	{"out of band: a part captured", "outOfBand capture id=op-8 amount=1"},
	{"out of band: all captured, final", "outOfBand capture final id=op-8 amount=1250"},
	{"out of band: the rest released", "outOfBand void id=op-8 amount=1"},
	{"out of band: a part refunded", "outOfBand refund id=op-8 amount=1"},
	{"out of band: another total", "outOfBand adjust id=op-8 amount=3000"},
	{"out of band: in another currency", "outOfBand capture id=op-8 amount=1 currency=JPY"},
	{"out of band: at another processor", "outOfBand void id=op-8 amount=1 at=STRIPE"},
	{"out of band: recorded before", "outOfBand capture id=op-1 amount=1"},
	{"out of band: pending", "outOfBand capture id=op-8 amount=1 state=PENDING"},
	{"out of band: a capture under the key 01payment.3", "outOfBand capture id=op-8 amount=1 key=01payment.3"},
}
