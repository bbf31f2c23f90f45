package docs

import (
	"encoding/json"
	"regexp"
	"strings"
)

type event struct {
	Type, Summary string
	Fields        []field // of the event itself
}

type eventGroup struct {
	Name   string
	Events []event
}

// Anchor is the place in the page.
func (e event) Anchor() string { return Path + "/events#" + e.Type }

// eventDepth is how deep the fields of events are shown; asyncapi.yaml has them all.
const eventDepth = 1

// pointers are references to the contract, which the pages do not have.
var pointers = regexp.MustCompile(` \((?:[DI][0-9.]+|§[0-9.]+)(?:, (?:[DI][0-9.]+|§[0-9.]+))*\)`)

// firstEvent returns the first event of a recorded answer of GET /events; "" if there is none.
func firstEvent(answer string) string {
	var page struct{ Data []json.RawMessage }
	if json.Unmarshal([]byte(answer), &page) != nil || len(page.Data) == 0 {
		return ""
	}
	return pretty(string(page.Data[0]))
}

// events returns the event types by aggregate, in the order of the document.
func (d *document) events() (groups []eventGroup) {
	for _, m := range d.Components.Messages {
		aggregate, _, typed := strings.Cut(m.Key, ".")
		if !typed {
			continue // any event of the stream over HTTP
		}
		if len(groups) == 0 || groups[len(groups)-1].Name != aggregate {
			groups = append(groups, eventGroup{Name: aggregate})
		}
		e := event{Type: m.Key, Summary: pointers.ReplaceAllString(m.Value.Summary, "")}
		if own, found := d.Components.Schemas.get(m.Key + ".event"); found {
			e.Fields = d.fields(own, maxDepth-eventDepth)
		}
		g := &groups[len(groups)-1]
		g.Events = append(g.Events, e)
	}
	return groups
}
