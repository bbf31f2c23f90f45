package eventstream

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"payledger/domain/exactjson"
)

// Limits of the consumers of an account.
const (
	accountConsumers  = 16
	consumerBatch     = 1000 // messages of one request
	consumerWaiting   = 64   // requests that wait
	consumerUnacked   = 10_000
	ephemeralInactive = time.Hour // after which the server deletes an idle consumer that is not durable
)

// consumerRequest is a request to create or change a consumer. Fields of JetStream that are not
// here do not reach the server.
type consumerRequest struct {
	Stream string          `json:"stream_name"`
	Action string          `json:"action,omitempty"` // "create", "update" or ""
	Config *consumerConfig `json:"config"`
}

type consumerConfig struct {
	Name           string            `json:"name,omitempty"`
	Durable        string            `json:"durable_name,omitempty"`
	Description    string            `json:"description,omitempty"`
	Metadata       map[string]string `json:"metadata,omitempty"`
	DeliverSubject string            `json:"deliver_subject,omitempty"` // always refused
	DeliverPolicy  json.RawMessage   `json:"deliver_policy,omitempty"`
	StartSequence  uint64            `json:"opt_start_seq,omitempty"`
	StartTime      json.RawMessage   `json:"opt_start_time,omitempty"`
	AckPolicy      json.RawMessage   `json:"ack_policy,omitempty"`
	AckWait        time.Duration     `json:"ack_wait,omitempty"`
	MaxDeliver     int               `json:"max_deliver,omitempty"`
	Filter         string            `json:"filter_subject,omitempty"`
	Filters        []string          `json:"filter_subjects,omitempty"`
	ReplayPolicy   string            `json:"replay_policy,omitempty"`
	HeadersOnly    bool              `json:"headers_only,omitempty"`
	Inactive       time.Duration     `json:"inactive_threshold,omitempty"`
	MaxUnacked     int               `json:"max_ack_pending,omitempty"`
	MaxWaiting     int               `json:"max_waiting,omitempty"`
	MaxBatch       int               `json:"max_batch,omitempty"`
}

// tolerated are fields that client libraries always set, and that have no effect here.
var tolerated = []string{"num_replicas", "mem_storage"}

// unknownField returns an error for the first non-empty field that does not reach the server: the
// user would expect it to have an effect.
func unknownField(body []byte) error {
	var asked struct {
		Config map[string]json.RawMessage `json:"config"`
	}
	if err := exactjson.Unmarshal(body, &asked); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(asked.Config)) {
		alone, err := json.Marshal(map[string]json.RawMessage{name: asked.Config[name]})
		if err != nil {
			return err
		}
		if exactjson.UnmarshalStrict(alone, &consumerConfig{}) != nil && !slices.Contains(tolerated, name) && !slices.Contains(empty, string(asked.Config[name])) {
			return fmt.Errorf("the field %q of a consumer is not supported: leave it out", name)
		}
	}
	return nil
}

// empty are the values that mean the same as a missing field. Go programs send the zero time for a
// time that is not set: the command line of NATS does so for pause_until.
var empty = []string{"null", "false", "0", `""`, "[]", "{}", `"0001-01-01T00:00:00Z"`}

// create forwards a request for a consumer, limited to the account's own events.
func (g *gate) create(ctx context.Context, r request) {
	var asked consumerRequest
	if err := exactjson.Unmarshal(r.body, &asked); err != nil || asked.Config == nil {
		g.refuse(r, 400, "the request is no JSON of JetStream")
		return
	}
	err := asked.restrict(r)
	if err == nil {
		err = unknownField(r.body)
	}
	if err != nil {
		g.refuse(r, 400, err.Error())
		return
	}
	r.name = strings.TrimPrefix(asked.Config.Name, consumerPrefix(r.account))
	g.creating.Lock()
	defer g.creating.Unlock()
	if full, err := g.full(ctx, r); err != nil || full {
		problem := fmt.Sprintf("an account may have %d consumers: delete one", g.limit.consumersOf())
		if err != nil {
			problem = notThere
		}
		g.refuse(r, 503, problem)
		return
	}
	body, err := json.Marshal(asked)
	if err != nil {
		g.refuse(r, 400, "the request is no JSON of JetStream")
		return
	}
	g.ask(ctx, r, userAPI+"CONSUMER.CREATE."+Name+"."+asked.Config.Name, body)
}

// restrict limits the consumer to the account's own events and to the limits of an account, or
// refuses it.
func (c *consumerRequest) restrict(r request) error {
	if c.Stream != Name {
		return fmt.Errorf("the only stream is %s", Name)
	}
	if c.Action != "" && c.Action != "create" && c.Action != "update" {
		return fmt.Errorf("unknown action %q", c.Action)
	}
	f := c.Config
	if f.DeliverSubject != "" {
		return fmt.Errorf("push consumers are not supported: use a pull consumer, without deliver_subject")
	}
	name := r.name
	for _, given := range []string{f.Durable, f.Name} {
		given = strings.TrimPrefix(given, consumerPrefix(r.account))
		if name == "" {
			name = given
		}
		if given != "" && given != name {
			return fmt.Errorf("the request names two consumers, %q and %q", name, given)
		}
	}
	if name == "" {
		name = rand.Text()
	}
	if !validName.MatchString(name) {
		return fmt.Errorf("a consumer's name has 1 to 64 letters, digits, - and _")
	}
	r.name = name
	f.Name = r.consumer()
	if f.Durable != "" {
		f.Durable = f.Name
	} else if f.Inactive <= 0 || f.Inactive > ephemeralInactive {
		f.Inactive = min(max(f.Inactive, 5*time.Second), ephemeralInactive)
	}
	if err := f.narrow(r.account); err != nil {
		return err
	}
	bound := func(value *int, most int) {
		if *value <= 0 || *value > most {
			*value = most
		}
	}
	if f.AckWait > 0 {
		f.AckWait = max(f.AckWait, minInterval)
	}
	bound(&f.MaxUnacked, consumerUnacked)
	bound(&f.MaxWaiting, consumerWaiting)
	bound(&f.MaxBatch, consumerBatch)
	return nil
}

// narrow limits the filters to the account's own subjects.
func (f *consumerConfig) narrow(account string) error {
	if f.Filter == "" && len(f.Filters) == 0 {
		f.Filter = filter(account)
	}
	filters := []*string{&f.Filter}
	if f.Filter == "" {
		filters = nil
	}
	for i := range f.Filters {
		filters = append(filters, &f.Filters[i])
	}
	for _, one := range filters {
		own, ok := narrowed(account, *one)
		if !ok {
			return fmt.Errorf("filter %q: this user reads %s", *one, filter(account))
		}
		*one = own
	}
	return nil
}

// narrowed returns the part of a filter that has the account's own subjects; false if there is
// none. Wildcards in the place of the account mean the account: the command line of NATS reads a
// whole stream with ">".
func narrowed(account, subject string) (own string, ok bool) {
	first, rest, _ := strings.Cut(subject, ".")
	of, after, named := strings.Cut(rest, ".")
	switch {
	case first == ">" && rest == "", (first == "events" || first == "*") && of == ">" && !named:
		return filter(account), true
	case (first == "events" || first == "*") && (of == account || of == "*") && after != "":
		return strings.TrimSuffix(filter(account), ">") + after, true
	}
	return "", false
}

// full reports whether the account has its maximum of consumers. An existing consumer may be
// changed.
func (g *gate) full(ctx context.Context, r request) (bool, error) {
	stream, err := g.js.Stream(ctx, Name)
	if err != nil {
		return false, err
	}
	names := stream.ConsumerNames(ctx)
	count := 0
	for name := range names.Name() {
		if name == r.consumer() {
			return false, nil
		}
		if strings.HasPrefix(name, consumerPrefix(r.account)) {
			count++
		}
	}
	return count >= g.limit.consumersOf(), names.Err()
}
