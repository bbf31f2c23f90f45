package homepages

import (
	"payledger/domain/account"
	"payledger/domain/processor"
	"payledger/httpapi/dashboard/frame"
)

// stops are the lists of the routing rules that refuse payments, because none of their processors
// takes any (D15).
type stops struct {
	None  bool // no processor takes payments: all are refused
	Lists []account.RouteList
}

// takers are the processors that take payments of the account.
type takers map[processor.Name]bool

func (t takers) takes(name processor.Name) bool { return t[name] }

func readTakers(v *frame.Visit) (takers, error) {
	var list struct {
		Data []struct {
			Name       processor.Name
			Enabled    bool
			Connection processor.ConnectionState
		}
	}
	if err := v.Get("/management/processors", nil, &list); err != nil {
		return nil, err
	}
	t := takers{}
	for _, p := range list.Data {
		if p.Enabled && p.Connection != processor.NoAddress {
			t[p.Name] = true
		}
	}
	return t, nil
}

func readStops(v *frame.Visit, t takers) (s stops, err error) {
	if s.None = len(t) == 0; s.None {
		return s, nil
	}
	var rules account.Routing
	err = v.Get("/management/routing", nil, &rules)
	s.Lists = rules.Stopped(t.takes)
	return s, err
}
