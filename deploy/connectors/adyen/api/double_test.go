package api

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"payledger/domain"
)

const (
	testAccount = "TestMerchant"
	testKey     = "test-api-key-that-is-in-no-log"
)

var testHMAC = []byte("0123456789abcdef0123456789abcdef")

// Cards of the double, beside those of testCards.
const (
	cardPending      = "4000000000003220"
	cardCaptureFails = "4000000000005142"
	cardRefundFails  = "4000000000005126"
	cardVoidFails    = "4000000000005159"
	cardDisputed     = "4000000000000259"
	cardReturned     = "4000000000000069" // captures and refunds succeed, then fail
	cardChallenge    = "4917610000000000"
)

// double is Adyen: payments by their reference, answers by idempotency key, and webhooks to send.
type double struct {
	now func() time.Time

	mu       sync.Mutex
	answers  map[string]reply
	payments map[string]*held
	byOwn    map[string]*held // by merchant reference
	number   int
	webhooks [][]byte
	effects  map[string]int // of successful operations, by merchant reference
	fresh    chan struct{}  // sent to when there is a webhook
}

type reply struct {
	status int
	header string // the value of Transient-Error
	body   string
}

type held struct {
	psp, reference, card             string
	authorized, captured, refunded   domain.Amount
	currency                         domain.Currency
	approved, cancelled, wasCaptured bool
}

func newDouble(now func() time.Time) *double {
	return &double{
		now: now, answers: map[string]reply{}, payments: map[string]*held{}, byOwn: map[string]*held{}, effects: map[string]int{},
		fresh: make(chan struct{}, 1),
	}
}

// request is what the double reads of all requests.
type request struct {
	MerchantAccount  string            `json:"merchantAccount"`
	Amount           amount            `json:"amount"`
	Reference        string            `json:"reference"`
	PaymentReference string            `json:"paymentReference"`
	PaymentMethod    method            `json:"paymentMethod"`
	AdditionalData   map[string]string `json:"additionalData"`
}

func (d *double) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	key := r.Header.Get(headerKey)
	got := d.take(r.Method, r.URL.Path, r.Header.Get("X-API-Key"), key, body)
	if got.header != "" {
		w.Header().Set(headerRetry, got.header)
	}
	w.Header().Set(headerKey, key)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(got.status)
	_, _ = io.WriteString(w, got.body)
}

func refusedWith(status int, code, message string) reply {
	return reply{status: status, body: fmt.Sprintf(`{"status":%d,"errorCode":%q,"message":%q,"errorType":"validation"}`, status, code, message)}
}

// take carries out a request, or answers as it answered the first under the key.
func (d *double) take(verb, path, apiKey, key string, body []byte) reply {
	d.mu.Lock()
	defer d.mu.Unlock()
	var q request
	switch err := json.Unmarshal(body, &q); {
	case apiKey != testKey:
		return refusedWith(401, "000", "HTTP Status Response - Unauthorized")
	case verb != http.MethodPost || !strings.HasPrefix(path, "/v71/"):
		return reply{status: 404, body: "{}"}
	case err != nil || key == "" || len(key) > 64 || len(q.Reference) > 80 || q.Reference == "":
		return refusedWith(422, "702", "Invalid request")
	case q.MerchantAccount != testAccount:
		return refusedWith(403, "901", "Invalid Merchant Account")
	}
	if first, done := d.answers[key]; done {
		return first
	}
	answer := d.act(strings.TrimPrefix(path, "/v71"), q)
	d.answers[key] = answer
	return answer
}

func (d *double) psp() string {
	d.number++
	return fmt.Sprintf("PSPREF%dX%04d", d.number/10000, d.number%10000)
}

func (d *double) act(path string, q request) reply {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if path == "/payments" {
		return d.pay(q)
	}
	psp := d.psp()
	if path == "/cancels" {
		p := d.byOwn[q.PaymentReference]
		ok := p != nil && p.approved && !p.cancelled && !p.wasCaptured
		if ok {
			p.cancelled = true
			d.effects[p.reference]--
		}
		d.tell(item{EventCode: "TECHNICAL_CANCEL", PspReference: psp, MerchantReference: q.Reference}, ok, "Original payment not found")
		return received(psp, "", q)
	}
	p := d.payments[parts[1]]
	if len(parts) != 3 || p == nil {
		return refusedWith(422, "167", "Original pspReference required for this operation")
	}
	i := item{PspReference: psp, OriginalReference: p.psp, MerchantReference: q.Reference, Amount: q.Amount}
	ok, late := d.modify(parts[2], p, q, &i)
	if ok && !strings.HasSuffix(q.Reference, undoing) {
		d.effects[q.Reference]++
	}
	d.tell(i, ok, "Insufficient balance on payment")
	if late != "" && ok {
		i.EventCode = late
		d.effects[q.Reference]--
		d.tell(i, true, "Returned")
	}
	if ok && p.card == cardDisputed && parts[2] == "captures" {
		d.tell(item{
			EventCode: "NOTIFICATION_OF_CHARGEBACK", PspReference: d.psp(), OriginalReference: p.psp, MerchantReference: p.reference, Amount: q.Amount,
			AdditionalData: map[string]any{
				"chargebackReasonCode": "10.4", "disputeStatus": "Undefended", "capturePspReference": psp, "defensePeriodEndsAt": "2035-01-02T03:04:05+01:00",
			},
		}, true, "Other Fraud-Card Absent Environment")
	}
	return received(psp, p.psp, q)
}

// modify changes a payment, and returns whether that succeeds, and the event of a later failure.
func (d *double) modify(what string, p *held, q request, i *item) (ok bool, late string) {
	open := p.approved && !p.cancelled && !p.wasCaptured
	same := q.Amount.Currency == p.currency
	switch what {
	case "captures":
		i.EventCode = "CAPTURE"
		if ok = open && same && q.Amount.Value <= p.authorized && p.card != cardCaptureFails; ok {
			p.captured, p.wasCaptured = q.Amount.Value, true
		}
		if p.card == cardReturned {
			late = "CAPTURE_FAILED"
		}
	case "cancels":
		i.EventCode = "CANCELLATION"
		if ok = open && p.card != cardVoidFails; ok {
			p.cancelled = true
			if strings.HasSuffix(q.Reference, undoing) {
				d.effects[p.reference]--
			}
		}
	case "refunds":
		i.EventCode = "REFUND"
		if ok = same && p.refunded+q.Amount.Value <= p.captured && p.card != cardRefundFails; ok {
			p.refunded += q.Amount.Value
		}
	case "amountUpdates":
		i.EventCode = "AUTHORISATION_ADJUSTMENT"
		if ok = open && same; ok {
			p.authorized = q.Amount.Value
		}
	}
	return ok, late
}

func received(psp, payment string, q request) reply {
	text, _ := json.Marshal(receipt{testAccount, payment, psp, q.Reference, "received", &q.Amount})
	return reply{status: 201, body: string(text)}
}

func (d *double) pay(q request) reply {
	if q.AdditionalData["manualCapture"] != "true" {
		return refusedWith(422, "702", "the double captures nothing by itself")
	}
	if q.PaymentMethod.Number == cardChallenge {
		return reply{status: 200, body: `{"resultCode":"RedirectShopper","action":{"type":"redirect","url":"https://acs.example"}}`}
	}
	psp := d.psp()
	refusal := q.AdditionalData["RequestedTestAcquirerResponseCode"]
	p := &held{
		psp: psp, reference: q.Reference, card: q.PaymentMethod.Number, authorized: q.Amount.Value, currency: q.Amount.Currency, approved: refusal == "",
	}
	d.payments[psp], d.byOwn[q.Reference] = p, p
	if p.approved {
		d.effects[q.Reference]++
	}
	more := map[string]any{}
	if p.approved {
		more["authCode"], more["cvcResult"] = "012345", "1 Matches"
	}
	d.tell(item{EventCode: "AUTHORISATION", PspReference: psp, MerchantReference: q.Reference, Amount: q.Amount, AdditionalData: more}, p.approved, reasons[refusal].words)
	result := map[string]any{"pspReference": psp, "merchantReference": q.Reference, "resultCode": "Authorised", "amount": q.Amount, "additionalData": more}
	switch {
	case refusal != "":
		result["resultCode"], result["refusalReasonCode"], result["refusalReason"] = "Refused", refusal, reasons[refusal].words
	case p.card == cardPending:
		result["resultCode"] = "Pending"
	}
	text, _ := json.Marshal(result)
	return reply{status: 200, body: string(text)}
}

// tell adds a signed webhook to those that are to be sent.
func (d *double) tell(i item, success bool, why string) {
	i.MerchantAccountCode, i.EventDate, i.Success = testAccount, d.now().Truncate(time.Second), fmt.Sprint(success)
	if i.EventCode == "NOTIFICATION_OF_CHARGEBACK" || !success {
		i.Reason = why
	}
	d.webhooks = append(d.webhooks, webhook(i, testHMAC))
	select {
	case d.fresh <- struct{}{}:
	default:
	}
}

// webhook is the message of an item, signed with a key.
func webhook(i item, key []byte) []byte {
	more := map[string]any{"hmacSignature": Sign(key, i.signed())}
	for name, value := range i.AdditionalData {
		more[name] = value
	}
	i.AdditionalData = more
	text, err := json.Marshal(map[string]any{"live": "false", "notificationItems": []any{map[string]any{"NotificationRequestItem": i}}})
	if err != nil {
		panic(err)
	}
	return text
}

func (d *double) drain() [][]byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := d.webhooks
	d.webhooks = nil
	return list
}

// count returns how often operations of a payment took effect, by the marks of their references.
func (d *double) count(reference string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.effects[reference]
}
