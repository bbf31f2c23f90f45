package httpapi

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"payledger/domain"
	"payledger/eventstore/commands"
	"payledger/httpapi/checkout"
	"payledger/httpapi/intake"
	"payledger/httpapi/request"
)

// Intake bounds requests and their memory (D1); see package intake. A nil part has no bound.
type Intake struct {
	Gate    *intake.Gate    // requests that are processed, and those that wait
	Bodies  *intake.Budget  // memory of request bodies while they are held
	Answers *intake.Budget  // memory of answers while they are made and written
	Repeats *intake.Repeats // refusals of callers that ignore Retry-After
	Clients *intake.Clients // requests of each client behind a trusted proxy
	Tally   *intake.Tally   // refusals
}

const (
	// maxHeaders bounds headers and request line, in bytes (D1). Server.MaxHeaderBytes must be
	// more: above it there is no error body.
	maxHeaders = 32 << 10
	// maxHeaderFields bounds the number of headers (D1): a search for similar names looks at each.
	maxHeaderFields = 200
	// unbudgeted is the size up to which a body or an answer is not counted, in bytes: about as
	// much as a connection takes.
	unbudgeted = 16 << 10
	// elementSize is the memory of a list's element while the answer is made and written, about, in
	// bytes.
	elementSize = 8 << 10
	// streamSize is the memory of a streamed answer, about, in bytes.
	streamSize = 256 << 10
)

// admit refuses requests beyond the bounds, at little cost: before authentication. leave must be
// called when the request is over.
func (c *call) admit() (leave func(), err error) {
	leave = func() {}
	if alwaysServed(c.r) {
		return leave, nil
	}
	if c.api.Lease != nil {
		if err := c.api.Lease(); err != nil && !c.allowsStale() {
			return leave, cutOff(err)
		}
	}
	in := &c.api.Intake
	if in.Clients != nil {
		var forwarded bool
		c.client, forwarded = in.Clients.Of(c.r)
		if forwarded {
			if !in.Clients.Take(c.client, 1) {
				in.Tally.Add(intake.AddressRequests)
				return leave, c.tooManyOfAddress()
			}
			leave = func() { in.Clients.Give(c.client, 1) }
		}
	}
	if headerSize(c.r) > maxHeaders {
		in.Tally.Add(intake.Headers)
		return leave, domain.Refuse(domain.KindInvalid, domain.ReasonHeadersTooLarge, "The headers are larger than %d bytes.", maxHeaders)
	}
	if n := headerFields(c.r.Header); n > maxHeaderFields {
		in.Tally.Add(intake.Headers)
		return leave, domain.Refuse(domain.KindInvalid, domain.ReasonHeadersTooLarge, "The request has %d headers, more than %d.", n, maxHeaderFields)
	}
	if in.Gate != nil && in.Gate.Full() {
		in.Repeats.Wait(c.Ctx)
		return leave, c.refuseOverload()
	}
	return leave, nil
}

func cutOff(err error) error {
	return &domain.Error{
		Kind: domain.KindUnavailable, Reason: domain.ReasonServiceUnavailable, Err: err,
		Message: "This node of the service is cut off, or behind. Nothing was recorded.", Recovery: "Repeat the request after the time of Retry-After; another node answers.",
	}
}

// alwaysServed reports whether a request is answered at any load: probes (I1).
func alwaysServed(r *http.Request) bool {
	path := strings.TrimSuffix(r.URL.Path, "/")
	return path == pathHealth || path == pathReady
}

func (c *call) forPage() bool {
	if strings.HasPrefix(c.r.URL.Path, checkout.PathPayment) { // the router costs more than a refusal should
		c.find()
	}
	return c.route.access == byPage || isDashboard(c.r)
}

func headerSize(r *http.Request) int {
	n := len(r.Method) + len(r.RequestURI) + len(r.Proto) + len(r.Host)
	for name, values := range r.Header {
		for _, value := range values {
			n += len(name) + len(value) + len(": \r\n")
		}
	}
	return n
}

func headerFields(h http.Header) (n int) {
	for _, values := range h {
		n += len(values)
	}
	return n
}

func (c *call) enter() error {
	if c.route.access == byNothing || strings.HasPrefix(c.route.path, checkout.PathAssets) {
		return nil
	}
	if _, isList := c.operation.Query["limit"]; isList {
		if err := c.reserve(c.api.Intake.Answers, int64(request.Limit(c.Query))*elementSize); err != nil {
			return err
		}
	}
	if c.api.Intake.Gate == nil {
		return nil
	}
	place, ok := c.api.Intake.Gate.Enter(c.Ctx, c.placeOwner())
	if !ok {
		return c.refuseOverload()
	}
	c.place, c.Ctx = place, commands.WithPlace(c.Ctx, place)
	return nil
}

func (c *call) refuseOverload() error {
	c.api.Intake.Tally.Add(intake.Requests)
	intake.Refused(c.Ctx, retryAfter*time.Second)
	return overloaded()
}

func (c *call) reserve(from *intake.Budget, bytes int64) error {
	who := c.owner()
	if !from.Take(who, bytes) {
		c.api.Intake.Tally.Add(intake.Memory)
		return overloaded()
	}
	c.reserved = append(c.reserved, reservation{from, who, bytes})
	return nil
}

// owner returns the one whose share of the places and of the memory the request takes from: its
// account, or its address while that is not known.
func (c *call) owner() string {
	if c.Merchant.ID != "" {
		return string(c.Merchant.ID)
	}
	return c.client.String()
}

func (c *call) placeOwner() intake.Owner {
	return intake.Owner{Name: c.owner(), Address: c.Merchant.ID == ""}
}

type reservation struct {
	from  *intake.Budget
	who   string
	bytes int64
}

// holdAnswer releases the memory of body and list, and reserves that of an answer unless all
// requests share it. The answer to a change is always sent.
func (c *call) holdAnswer(answer raw) error {
	c.releaseMemory()
	switch {
	case answer.shared || len(answer.body) <= unbudgeted:
		return nil
	case c.route.method == http.MethodGet:
		return c.reserve(c.api.Intake.Answers, int64(len(answer.body)))
	}
	c.owe(int64(len(answer.body)))
	return nil
}

// owe counts an answer that is sent in any case.
func (c *call) owe(bytes int64) {
	c.api.Intake.Answers.Owe(c.owner(), bytes)
	c.reserved = append(c.reserved, reservation{c.api.Intake.Answers, c.owner(), bytes})
}

func (c *call) releaseMemory() {
	for _, r := range c.reserved {
		r.from.Give(r.who, r.bytes)
	}
	c.reserved = nil
}

func overloaded() error {
	return &domain.Error{
		Kind: domain.KindUnavailable, Reason: domain.ReasonServiceUnavailable, Err: errOverloaded,
		Message: "Too many requests are under way. Nothing was recorded.", Recovery: "Repeat the request after the time of Retry-After.",
	}
}

// errOverloaded marks requests that were refused because of the load: they are counted, and their
// log lines are at debug level.
var errOverloaded = errors.New("overloaded")

func (c *call) tooManyOfAddress() error {
	c.w.Header().Set("Retry-After", "1")
	intake.Refused(c.Ctx, time.Second)
	refused := domain.Refuse(domain.KindUnavailable, domain.ReasonRateLimitExceeded, "The address makes too many requests at once.")
	refused.Err = errOverloaded
	return refused
}

// Surplus answers connections beyond the caps (D1), one request each: probes as next does, other
// requests with 503, or with 429 for an address that holds too many connections. random makes
// request ids.
func Surplus(random io.Reader, next http.Handler, tally *intake.Tally) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		if alwaysServed(r) {
			next.ServeHTTP(w, r)
			return
		}
		tally.Add(intake.Reserved)
		detail := errorDetail{
			ErrorID: domain.ReasonServiceUnavailable, Description: "Too many connections are open. Nothing was recorded.",
			RecoverySuggestion: "Repeat the request after the time of Retry-After.",
		}
		if intake.Why(r.Context()) == intake.AddressConnections {
			detail.ErrorID, detail.Description = domain.ReasonRateLimitExceeded, "The address holds too many connections."
		}
		refuseBare(w, random, detail)
	})
}
