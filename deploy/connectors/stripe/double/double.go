package double

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Config configures a double.
type Config struct {
	Now            func() time.Time // nil means time.Now
	Base           string           // the double's address, for the page of a customer's check
	WebhookSecret  string           // signs webhooks
	NoMulticapture bool             // the account captures an authorization once
	PaidOut        PaidOut          // zero: in the currency of the payment
}

// PaidOut is the currency in which the account is paid out.
type PaidOut struct {
	Currency string
	Rate     float64 // of an amount of a payment, to that currency
}

// Double is an account at the double. Serve its Handler.
type Double struct {
	Config
	mux *http.ServeMux

	mu        sync.Mutex
	number    int // of objects
	methods   map[string]*method
	customers map[string]bool
	intents   map[string]*intent
	order     []*intent // by creation
	refunds   []*refund
	disputes  []*dispute
	moves     []*move
	setups    []*setup
	keys      map[string]*saved
	faults    []*Fault
	late      []func()
	events    []*Event
	delivered int
	calls     []string // method and path of each request that arrived
}

type object = map[string]any

// New returns an empty account.
func New(c Config) *Double {
	if c.Now == nil {
		c.Now = time.Now
	}
	d := &Double{
		Config: c, mux: http.NewServeMux(), methods: map[string]*method{}, customers: map[string]bool{}, intents: map[string]*intent{}, keys: map[string]*saved{},
	}
	d.routes()
	return d
}

// Handler serves the API.
func (d *Double) Handler() http.Handler { return http.HandlerFunc(d.serve) }

func (d *Double) routes() {
	for pattern, endpoint := range map[string]func(call) answer{
		"POST /v1/customers":                                    d.postCustomer,
		"POST /v1/payment_methods":                              d.postMethod,
		"POST /v1/payment_intents":                              d.postIntent,
		"GET /v1/payment_intents":                               d.getIntents,
		"GET /v1/payment_intents/{id}":                          d.getIntent,
		"POST /v1/payment_intents/{id}/capture":                 d.postCapture,
		"POST /v1/payment_intents/{id}/cancel":                  d.postCancel,
		"POST /v1/payment_intents/{id}/increment_authorization": d.postIncrement,
		"POST /v1/setup_intents":                                d.postSetup,
		"GET /v1/setup_intents":                                 d.getSetups,
		"GET /v1/setup_intents/{id}":                            d.getSetup,
		"POST /v1/setup_intents/{id}/cancel":                    d.postSetupCancel,
		"POST /v1/refunds":                                      d.postRefund,
		"GET /v1/refunds":                                       d.getRefunds,
		"GET /v1/refunds/{id}":                                  d.getRefund,
		"GET /v1/disputes/{id}":                                 d.getDispute,
		"GET /v1/balance_transactions":                          d.getMoves,
	} {
		d.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { d.handle(w, r, endpoint) })
	}
	d.mux.HandleFunc("GET /customer/{id}", d.getCustomer)
	d.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		d.write(w, invalid("Unrecognized request URL").with(http.StatusNotFound))
	})
}

// call is a request.
type call struct {
	id   string // of the path
	form url.Values
}

func (c call) number(name string) (int64, bool) {
	n, err := strconv.ParseInt(c.form.Get(name), 10, 64)
	return n, err == nil
}

func (c call) expands(name string) bool {
	for key, values := range c.form {
		if strings.HasPrefix(key, "expand") && len(values) > 0 && values[0] == name {
			return true
		}
	}
	return false
}

// metadata adds the metadata of a request to an object's.
func (c call) metadata(into map[string]string) {
	for key, values := range c.form {
		if name, is := strings.CutPrefix(key, "metadata["); is {
			into[strings.TrimSuffix(name, "]")] = values[0]
		}
	}
}

// answer is an answer to a request. An unsaved one leaves its idempotency key free.
type answer struct {
	status  int
	body    any
	unsaved bool
}

func (a answer) with(status int) answer { a.status = status; return a }

func ok(body any) answer { return answer{status: http.StatusOK, body: body} }

// problem is an error object.
func problem(status int, kind, code, message string) answer {
	e := object{"type": kind, "message": message}
	if code != "" {
		e["code"] = code
	}
	return answer{status: status, body: object{"error": e}}
}

// invalid is a request that fails validation: it leaves its key free.
func invalid(message string) answer {
	a := problem(http.StatusBadRequest, "invalid_request_error", "", message)
	a.unsaved = true
	return a
}

func coded(code, message string) answer {
	return problem(http.StatusBadRequest, "invalid_request_error", code, message)
}

func (a answer) having(name string, value any) answer {
	a.body.(object)["error"].(object)[name] = value
	return a
}

func missing(id string) answer {
	a := problem(http.StatusNotFound, "invalid_request_error", "resource_missing", "No such object: '"+id+"'")
	a.unsaved = true
	return a
}

func (d *Double) write(w http.ResponseWriter, a answer) {
	text, isText := a.body.(string)
	if !isText {
		encoded, err := json.Marshal(a.body)
		if err != nil {
			panic(err)
		}
		text = string(encoded)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	_, _ = w.Write([]byte(text))
}

// id returns a new id.
func (d *Double) id(prefix string) string {
	d.number++
	return fmt.Sprintf("%s_3Double%06d", prefix, d.number)
}

func (d *Double) seconds() int64 { return d.Now().Unix() }

// Calls returns method and path of each request that arrived.
func (d *Double) Calls() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.calls...)
}
