package auditlog

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"payledger/eventstore"
	"payledger/projections/jsondiff"
)

// shown are the fields that an entry shows before and after a change, by the kind of the subject.
// list is the list of the kind in the state, whose things have the subject's id in the field by;
// without by, the state has one thing. No fields: all. A field that is not here is never shown: it
// can be a secret.
var shown = map[string]struct {
	list, by string
	fields   []string
}{
	"settings":         {"settings", "", nil},
	"routing":          {"routing", "", nil},
	"processor":        {"processors", "name", []string{"processorMerchantId", "enabled"}},
	"webhook_endpoint": {"endpoints", "id", []string{"url", "description", "eventTypes", "enabled"}},
	"api_key":          {"apiKeys", "id", []string{"name", "scopes", "expiresAt"}},
	"user":             {"users", "id", []string{"name", "role"}},
	"workflow":         {"workflows", "id", []string{"definition", "enabled"}},
}

// changed returns the differences that an event made to its subject; none for the first event of an
// account, which has no before.
func (e *Reader) changed(ctx context.Context, r *eventstore.Recorded, what Subject) ([]jsondiff.Change, error) {
	if _, is := shown[what.Kind]; !is || r.PrevSeq == 0 {
		return nil, nil
	}
	after, err := stateOf(r)
	if err != nil {
		return nil, err
	}
	previous, err := e.Store.Read(ctx, r.Shard, r.PrevSeq)
	if err != nil {
		return nil, err
	}
	before, err := stateOf(previous)
	if err != nil {
		return nil, err
	}
	var hosts masks
	from, err := jsondiff.Tree(hosts.masked(thing(before, what)))
	if err != nil {
		return nil, fmt.Errorf("auditlog: %w", err)
	}
	to, err := jsondiff.Tree(hosts.masked(thing(after, what)))
	if err != nil {
		return nil, fmt.Errorf("auditlog: %w", err)
	}
	return jsondiff.Of(from, to), nil
}

// thing returns the shown fields of a subject in a state; none if the state does not have it.
func thing(state fact, what Subject) map[string]any {
	of := shown[what.Kind]
	one, _ := state[of.list].(map[string]any)
	all, _ := state[of.list].([]any)
	for _, candidate := range all {
		if listed, _ := candidate.(map[string]any); of.by != "" && fact(listed).text(of.by) == what.ID {
			one = listed
		}
	}
	if of.fields == nil {
		return one
	}
	out := map[string]any{}
	for _, name := range of.fields {
		if value, has := one[name]; has {
			out[name] = value
		}
	}
	return out
}

// masks writes addresses without the parts that can hold a secret. Different addresses stay
// different: they are numbered.
type masks struct{ urls []string }

// masked returns a copy of a value whose addresses are masked.
func (m *masks) masked(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, value := range v {
			if text, is := value.(string); is && name == "url" {
				value = m.address(text)
			}
			out[name] = m.masked(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = m.masked(v[i])
		}
		return out
	}
	return v
}

func (m *masks) address(text string) string {
	number := 1
	for number <= len(m.urls) && m.urls[number-1] != text {
		number++
	}
	if number > len(m.urls) {
		m.urls = append(m.urls, text)
	}
	host := "address"
	if u, err := url.Parse(text); err == nil && u.Host != "" {
		host = u.Scheme + "://" + u.Host + "/…"
	}
	return host + " (" + strconv.Itoa(number) + ")"
}
